-- Keep the answer to a delivery, or note that it failed and may be handled again.
--
-- KEYS  delivery
--       newest    the newest delivery of this person
-- ARGV  owner
--       answer    '' when it failed
-- Returns 'kept' | 'lost': another process handles it by now

local delivery, newest = unpack(KEYS)
local owner, answer = unpack(ARGV)

local since, by = read_delivery(delivery)
if by ~= owner then
  return 'lost'
end
if answer ~= '' then
  note_delivery(delivery, newest, ANSWERED, owner, answer)
elseif since ~= ANSWERED then
  note_delivery(delivery, newest, FAILED, owner)
end
return 'kept'
