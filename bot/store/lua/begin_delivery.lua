-- Note that a delivery of a person is being handled. The same bytes are handled once.
--
-- KEYS  delivery
--       newest    the newest delivery of this person
-- ARGV  owner
-- Returns {'first'} | {'again', its answer} | {'busy'}: another process is handling it
-- | {'late'}: it failed, and the person has sent something newer, which it must not undo

local delivery, newest = unpack(KEYS)
local owner = unpack(ARGV)

local at = now()
local refusal = why_not_handled(delivery, newest, owner, at)
if refusal then
  return refusal
end
note_delivery(delivery, newest, text(at), owner)
return { 'first' }
