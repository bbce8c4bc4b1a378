-- Say that a bot process lives or has ended, and forget those that have not said so for a day.
--
-- KEYS  1 bots
-- ARGV  1 process  2 1 while it lives, 0 when it ends

local at = now()
if ARGV[2] == '1' then
  redis.call('ZADD', KEYS[1], text(at), ARGV[1])
else
  redis.call('ZREM', KEYS[1], ARGV[1])
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', text(at - DAY))
