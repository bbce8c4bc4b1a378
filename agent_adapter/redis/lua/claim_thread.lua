-- Take, renew or (with a lease of 0) give back the right to run one thread. It expires if nobody renews it. Who had it last is
-- kept for an hour: a process that was too late does not go on with what another one has run.
--
-- KEYS  thread
-- ARGV  prefix
--       owner
--       lease   milliseconds
--       renews  1 for who holds it already, else 0
--       note    for the next owner, when it is given back; kept for a week
-- Returns {'mine', note of who had it last} | {'claimed', milliseconds for which another owner still holds it}
-- | {'unsure', milliseconds until it is known whether somebody holds it}

local thread = unpack(KEYS)
local prefix, owner, lease, renews, note = unpack(ARGV)
local FREE, KEPT = 'free:', 3600000
local NOTE, NOTE_KEPT = 'note:', 604800000
local is_given_back = lease == '0'

local holder = redis.call('GET', thread)
local is_noted = holder and string.sub(holder, 1, #NOTE) == NOTE
local is_free = not holder or is_noted or string.sub(holder, 1, #FREE) == FREE
if holder and holder ~= owner and (renews == '1' or not is_free) then
  return { 'claimed', math.max(1, redis.call('PTTL', thread)) }
end
local is_new = is_free and renews == '0' and not is_given_back
local unsure = is_new and unsure_for(prefix, tonumber(lease), now()) or 0
if unsure > 0 then
  return { 'unsure', unsure }
end
if is_given_back then
  if holder == owner and note ~= '' then
    redis.call('SET', thread, NOTE .. note, 'PX', NOTE_KEPT)
  elseif holder == owner then
    redis.call('SET', thread, FREE .. owner, 'PX', KEPT)
  end
else
  redis.call('SET', thread, owner, 'PX', lease)
end
return { 'mine', is_noted and string.sub(holder, #NOTE + 1) or '' }
