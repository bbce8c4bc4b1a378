-- Count a failed attempt to resume a run, under the token of the attempt, and note why it failed.
--
-- KEYS  1 req  2 run
-- ARGV  1 token of the attempt  2 reason
-- Returns how many attempts have failed

if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], 'resumed') == 1 then
  return 0
end
if redis.call('HGET', KEYS[2], 'failed_by') ~= ARGV[1] then
  redis.call('HINCRBY', KEYS[2], 'failures', 1)
end
redis.call('HSET', KEYS[2], 'failed_by', ARGV[1], 'reason', ARGV[2])
return tonumber(redis.call('HGET', KEYS[2], 'failures'))
