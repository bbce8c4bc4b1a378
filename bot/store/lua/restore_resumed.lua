-- Write once more that a run was resumed, if Redis has lost it: a bot that has shown it still knows it.
--
-- KEYS  req
-- ARGV  resumed     when
--       resumed_by  owner of the claim
-- Returns 'restored' | 'known' | 'unknown'

local req = unpack(KEYS)
local resumed, resumed_by = unpack(ARGV)

if redis.call('EXISTS', req) == 0 then
  return 'unknown'
elseif redis.call('HEXISTS', req, 'resumed') == 1 then
  return 'known'
end
redis.call('HSET', req, 'resumed', resumed, 'resumed_by', resumed_by)
return 'restored'
