-- Count a failed attempt to resume a run, and note why it failed.
--
-- KEYS  req, run
-- ARGV  attempt  its token: the same attempt counts once
--       reason
-- Returns how many attempts have failed

local req, run = unpack(KEYS)
local attempt, reason = unpack(ARGV)

if redis.call('EXISTS', req) == 0 or redis.call('HEXISTS', req, 'resumed') == 1 then
  return 0
end
if redis.call('HGET', run, 'failed_by') ~= attempt then
  redis.call('HINCRBY', run, 'failures', 1)
end
redis.call('HSET', run, 'failed_by', attempt, 'reason', reason)
return tonumber(redis.call('HGET', run, 'failures'))
