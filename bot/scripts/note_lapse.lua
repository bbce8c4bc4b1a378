-- Have a card say that whoever took its answer has not gone on with the run, once the claim has lapsed.
--
-- KEYS  1 req  2 card  3 undrawn  4 wake  5 audit
-- ARGV  1 id
-- Returns 1 | 0: it is noted already, was given back, renewed or finished

local at = now()
local fence, claimed, resumed = unpack(redis.call('HMGET', KEYS[1], 'fence', 'claim_until', 'resumed'))
local has_lapsed = fence and not resumed and tonumber(claimed) > 0 and tonumber(claimed) <= at
if not has_lapsed or redis.call('HGET', KEYS[2], 'lapsed') == fence then
  return 0
end
owe(KEYS[3], KEYS[4], ARGV[1], at)
audit(KEYS[5], at, 'claim_lapsed', ARGV[1])
redis.call('HSET', KEYS[2], 'lapsed', fence)
return 1
