-- Say that a bot process lives, and forget those that have not said so for a day.
--
-- KEYS  1 bots
-- ARGV  1 process

local at = now()
redis.call('ZADD', KEYS[1], text(at), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', text(at - DAY))
