-- Have a card say that no process of the agent goes on with the answer, so long after it was decided.
--
-- KEYS  req, card, undrawn, audit
-- ARGV  id
--       after  milliseconds since the end
-- Returns 1 | 0: it was noted before, it is too early, or a process goes on with it

local req, card, undrawn, audit = unpack(KEYS)
local id, after = unpack(ARGV)

local at = now()
local claimed, resumed = unpack(redis.call('HMGET', req, 'claim_until', 'resumed'))
local status, settled, noted = unpack(redis.call('HMGET', card, 'status', 'settled', 'untaken'))
if not settled or status == 'pending' or noted or resumed or at < settled + after
  or tonumber(claimed or 0) > at then
  return 0
end
queue_drawing(undrawn, id, at)
write_audit(audit, 'untaken', id)
redis.call('HSET', card, 'untaken', text(at))
return 1
