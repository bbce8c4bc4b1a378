-- Give a turn within a rate limit, evenly once a fifth of the limit is used, so that nobody starves after a burst.
--
-- KEYS  1 turns of the last window  2 held  3 urgent: somebody urgent waits
-- ARGV  1 calls  2 window in milliseconds  3 1 when urgent  4 name of this turn
-- Returns milliseconds to wait, 0 to go

local at = now()
local calls, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local wait = math.max(0, redis.call('PTTL', KEYS[2]))
if ARGV[3] == '0' then
  wait = math.max(wait, redis.call('PTTL', KEYS[3]))
end

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', text(at - window))
local used = redis.call('ZCARD', KEYS[1])
if used > 0 and used >= calls / 5 then
  local free_in = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] + window - at
  local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
  if used < calls then
    wait = math.max(wait, last + free_in / (calls - used) - at)
  else
    wait = math.max(wait, free_in)
  end
end

wait = math.ceil(wait)
if wait > 0 then
  if ARGV[3] == '1' then
    redis.call('SET', KEYS[3], '1', 'PX', wait + 100)
  end
  return wait
end
redis.call('ZADD', KEYS[1], text(at), ARGV[4])
redis.call('PEXPIRE', KEYS[1], window)
return 0
