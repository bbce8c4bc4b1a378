-- Record that the run was resumed with these decisions. Final.
--
-- KEYS  req, run, inbox
-- ARGV  id, prefix
--       owner  of the claim
-- Returns 'finished' | 'repeat' | 'consumed': somebody else finished | 'lost': the claim is somebody else's | 'unknown'

local req, run, inbox = unpack(KEYS)
local id, prefix, owner = unpack(ARGV)

if redis.call('EXISTS', req) == 0 then
  return 'unknown'
end
local by = redis.call('HGET', req, 'resumed_by')
if by then
  return by == owner and 'repeat' or 'consumed'
end
if redis.call('HGET', req, 'claim_by') ~= owner then
  return 'lost'
end
redis.call('HSET', req, 'resumed', text(now()), 'resumed_by', owner)
-- The state is no longer needed, and it contains what the agent has seen.
redis.call('DEL', run)
note_for_bots(inbox, 'resumed', id)
wake_bots(prefix, id)
return 'finished'
