-- Have a card say that the agent took the answer and did not continue the run, once the agent's claim has lapsed.
--
-- KEYS  req, card, undrawn, audit
-- ARGV  id
-- Returns 1 | 0: it was noted before, or the claim was given back, renewed or used

local req, card, undrawn, audit = unpack(KEYS)
local id = unpack(ARGV)

local at = now()
local fence, claimed, resumed = unpack(redis.call('HMGET', req, 'fence', 'claim_until', 'resumed'))
local has_lapsed = fence and not resumed and tonumber(claimed) > 0 and tonumber(claimed) <= at
if not has_lapsed or redis.call('HGET', card, 'lapsed') == fence then
  return 0
end
queue_drawing(undrawn, id, at)
write_audit(audit, 'claim_lapsed', id)
redis.call('HSET', card, 'lapsed', fence)
return 1
