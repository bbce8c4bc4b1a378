-- Let a run that was set aside go on, at once.
--
-- KEYS  1 req  2 run  3 unresumed
-- ARGV  1 id
-- Returns 1 | 0: there is nothing to go on with

if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], 'resumed') == 1 then
  return 0
end
redis.call('HSET', KEYS[2], 'again', '1')
redis.call('HDEL', KEYS[2], 'set_aside')
redis.call('ZADD', KEYS[3], 'XX', text(now()), ARGV[1])
return 1
