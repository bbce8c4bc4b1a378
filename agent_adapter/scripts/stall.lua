-- Note why a run could not be resumed with its answer, so that its card says so. A later resume goes before it.
--
-- KEYS  1 req  2 undrawn  3 wake
-- ARGV  1 id  2 why
-- Returns 1 | 0: known already, or there is nothing to resume

if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], 'resumed') == 1
  or redis.call('HGET', KEYS[1], 'stalled') == ARGV[2] then
  return 0
end
redis.call('HSET', KEYS[1], 'stalled', ARGV[2])
owe(KEYS[2], KEYS[3], ARGV[1], now())
return 1
