-- Record that the run was resumed with these decisions. Final.
--
-- KEYS  req, card, run, undrawn, due, unresumed, wake, audit
-- ARGV  id, prefix
--       owner  of the claim
-- Returns 'finished' | 'repeat' | 'consumed': somebody else finished | 'lost': the claim is somebody else's | 'unknown'

local req, card, run, undrawn, due, unresumed, wake, audit = unpack(KEYS)
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
local at = now()
redis.call('HSET', req, 'resumed', text(at), 'resumed_by', owner)
redis.call('ZREM', unresumed, id)
-- There is no claim that could lapse any more. A record with a standing approval stays due, because that ends on time.
if redis.call('HEXISTS', card, 'sticky_given') == 0 then
  redis.call('ZREM', due, id)
end
-- The state is no longer needed, and it contains what the agent has seen.
redis.call('DEL', run)
expire_record(id, prefix, KEPT_RESUMED)
queue_drawing(undrawn, wake, id, at)
write_audit(audit, 'resumed', id)
return 'finished'
