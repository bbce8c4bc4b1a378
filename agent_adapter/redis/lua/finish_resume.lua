-- Record that the run was resumed with these decisions. Final.
--
-- KEYS  req, run, inbox
-- ARGV  id, prefix
--       owner  of the claim
--       age    milliseconds since it was called first. Above 0, the claim may be somebody else's by now
--       known  as in `claim_resume`
-- Returns {'finished'} | {'repeat'} | {'consumed'}: somebody else finished | {'lost'}: the claim is somebody else's
-- | {'moved', the identity of this server}: it may lack the claim | {'unknown'}

local req, run, inbox = unpack(KEYS)
local id, prefix, owner, age, known = unpack(ARGV)

if redis.call('EXISTS', req) == 0 then
  return { 'unknown' }
end
local by = redis.call('HGET', req, 'resumed_by')
if by then
  return { by == owner and 'repeat' or 'consumed' }
end
if age == '0' and redis.call('HGET', req, 'claim_by') ~= owner then
  local server = unknown_server(known)
  return server and { 'moved', server } or { 'lost' }
end
redis.call('HSET', req, 'resumed', text(now() - age), 'resumed_by', owner)
-- The state is no longer needed, and it contains what the agent has seen.
redis.call('DEL', run)
note_for_bots(inbox, 'resumed', id)
wake_bots(prefix, id)
return { 'finished' }
