-- Give a turn within a rate limit, evenly once a fifth of the limit is used, so that nobody starves after a burst. The
-- agents that wait take turns: one that had a turn lets those before it whose last turn is longer ago.
--
-- KEYS  1 turns of the last window  2 held  3 urgent: somebody urgent waits
--       4 waiting: agents that were told to wait, by until when they are expected back; those that are urgent, with a '!'
--       5 served: agents, by their last turn
-- ARGV  1 calls  2 window in milliseconds  3 1 when urgent  4 name of this turn  5 agent
-- Returns milliseconds to wait, 0 to go

local LATE = 1000
local YIELD = 100
local REMEMBERED = 600000

local at = now()
local calls, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local wait = life_of(KEYS[2])
if ARGV[3] == '0' then
  wait = math.max(wait, life_of(KEYS[3]))
end

-- What lies ahead of the clock was noted before it was set back.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', text(at - window))
redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. text(at), '+inf')
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

local urgent, agent = ARGV[3] == '1', ARGV[5]
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', text(at))
redis.call('ZREMRANGEBYSCORE', KEYS[4], '(' .. text(at + math.max(wait, window) + LATE), '+inf')
redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', text(at - REMEMBERED))
redis.call('ZREMRANGEBYSCORE', KEYS[5], text(at + LATE), '+inf')

local function has_to_yield()
  local mine = tonumber(redis.call('ZSCORE', KEYS[5], agent) or 0)
  for _, name in ipairs(redis.call('ZRANGE', KEYS[4], 0, -1)) do
    local other = string.match(name, '^!?(.*)$')
    if other ~= agent and (not urgent or name ~= other) and tonumber(redis.call('ZSCORE', KEYS[5], other) or 0) < mine then
      return true
    end
  end
  return false
end

wait = math.ceil(wait)
if wait <= 0 and has_to_yield() then
  wait = YIELD
end
local name = (urgent and '!' or '') .. agent
if wait > 0 then
  if urgent then
    redis.call('SET', KEYS[3], text(wait + 100), 'PX', wait + 100)
  end
  redis.call('ZADD', KEYS[4], text(at + wait + LATE), name)
  redis.call('PEXPIRE', KEYS[4], REMEMBERED)
  return wait
end
redis.call('ZREM', KEYS[4], name)
redis.call('ZADD', KEYS[5], text(at), agent)
redis.call('PEXPIRE', KEYS[5], REMEMBERED)
redis.call('ZADD', KEYS[1], text(at), ARGV[4])
redis.call('PEXPIRE', KEYS[1], window)
return 0
