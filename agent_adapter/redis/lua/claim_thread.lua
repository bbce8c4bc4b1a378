-- Take, renew or (with a lease of 0) give back the right to run one thread. It expires if nobody renews it. Who had it last is
-- kept for an hour: a process that was too late does not go on with what another one has run.
--
-- KEYS  thread
-- ARGV  prefix
--       owner
--       lease   milliseconds
--       renews  1 for who holds it already, else 0
--       note    for who has it next, when it is given back. It is kept for a week, or until its next owner leaves none
-- Returns {'mine', note} | {'claimed', milliseconds for which another owner still holds it}
-- | {'unsure', milliseconds until it is known whether somebody holds it}

local thread = unpack(KEYS)
local prefix, owner, lease, renews, note = unpack(ARGV)
local FREE, KEPT = 'free:', 3600000
local NOTE_KEPT = 604800000
local noted = thread .. ':note'
local is_given_back = lease == '0'

if is_given_back and note ~= '' then
  -- The calls have run, even if another owner has the right by now.
  redis.call('SET', noted, note, 'PX', NOTE_KEPT)
end
local holder = redis.call('GET', thread)
local is_free = not holder or string.sub(holder, 1, #FREE) == FREE
if holder and holder ~= owner and (renews == '1' or not is_free) then
  return { 'claimed', math.max(1, redis.call('PTTL', thread)) }
end
local is_new = is_free and renews == '0' and not is_given_back
local unsure = is_new and unsure_for(prefix, tonumber(lease), now()) or 0
if unsure > 0 then
  return { 'unsure', unsure }
end
if is_given_back then
  if holder == owner then
    redis.call('SET', thread, FREE .. owner, 'PX', KEPT)
    if note == '' then
      redis.call('DEL', noted)
    end
  end
else
  redis.call('SET', thread, owner, 'PX', lease)
end
return { 'mine', redis.call('GET', noted) or '' }
