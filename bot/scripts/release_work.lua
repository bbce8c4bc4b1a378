-- Have work that was given up tried again, as if it had never failed.
--
-- KEYS  1 failing  2 undrawn  3 wake  4 due
-- ARGV  1 id
-- Returns 1 | 0: nothing of it had failed

local drawing = redis.call('HDEL', KEYS[1], failing_name(KEYS[2], ARGV[1]))
local falling_due = redis.call('HDEL', KEYS[1], failing_name(KEYS[4], ARGV[1]))
if drawing == 1 then
  owe(KEYS[2], KEYS[3], ARGV[1], now())
end
if falling_due == 1 then
  redis.call('ZADD', KEYS[4], text(now()), ARGV[1])
end
return math.max(drawing, falling_due)
