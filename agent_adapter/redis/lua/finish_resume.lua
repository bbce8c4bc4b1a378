-- Record that the run was resumed with these decisions, or that they could not be used. Final.
--
-- KEYS  req, run, inbox
-- ARGV  id, prefix
--       owner   of the claim
--       fence   of the claim, or '' where the caller does not know it
--       unused  why the decisions could not be used, so that nothing was resumed, else ''
-- Returns 'finished' | 'repeat' | 'consumed': somebody else finished | 'lost': another owner has claimed the run since
-- | 'unknown'

local req, run, inbox = unpack(KEYS)
local id, prefix, owner, fence, unused = unpack(ARGV)

if redis.call('EXISTS', req) == 0 then
  return 'unknown'
end
local by, holder, newest = unpack(redis.call('HMGET', req, 'resumed_by', 'claim_by', 'fence'))
if by then
  return by == owner and 'repeat' or 'consumed'
end
-- Redis may have lost this claim. Then an older one is there, or none.
local is_older = fence ~= '' and tonumber(newest or 0) < tonumber(fence)
if holder and holder ~= owner and not is_older then
  return 'lost'
end
redis.call('HSET', req, 'resumed', text(now()), 'resumed_by', owner)
if unused ~= '' then
  redis.call('HSET', req, 'unused', '1', 'stalled', unused, 'stalled_by', owner)
end
-- The state is no longer needed, and it contains what the agent has seen.
redis.call('DEL', run)
note_for_bots(inbox, 'resumed', id)
wake_bots(prefix, id)
return 'finished'
