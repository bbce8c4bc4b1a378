-- Give a turn within a rate limit, or note that nobody gets one for a while. The first fifth of the limit is given at once,
-- the rest evenly, so that nobody starves after a burst. Waiting agents take turns: the one whose last turn is the longest
-- ago goes first.
--
-- KEYS  turns    the turns of the last window
--       held     exists while nobody gets a turn
--       urgent   exists while an urgent call waits
--       waiting  agents that have to wait, by the time when they should come back; an urgent one with a '!' before it
--       served   agents, by the time of their last turn
-- ARGV  calls      in one window
--       window     milliseconds
--       is_urgent  1 | 0
--       name       of this turn
--       agent
--       pause      milliseconds for which nobody gets a turn, or '' to ask for one
-- Returns milliseconds to wait, 0 to go

local turns, held, urgent, waiting, served = unpack(KEYS)
local calls, window, is_urgent, name, agent, pause = unpack(ARGV)
if pause ~= '' then
  if time_left(held) < tonumber(pause) then
    redis.call('SET', held, pause, 'PX', pause)
  end
  return 0
end
calls, window, is_urgent = tonumber(calls), tonumber(window), is_urgent == '1'
-- This many calls of a window are given at once.
local AT_ONCE = calls / 5
-- LATE is how much too late a waiting agent may come back. Others wait YIELD to let it go first.
local LATE = 1000
local YIELD = 100
-- An urgent call keeps the others waiting for this long after its own wait.
local URGENT_LATE = 100
local REMEMBERED = 600000

local at = now()
local wait = time_left(held)
if not is_urgent then
  wait = math.max(wait, time_left(urgent))
end

-- Times ahead of the clock were noted before the clock was set back.
redis.call('ZREMRANGEBYSCORE', turns, '-inf', text(at - window))
redis.call('ZREMRANGEBYSCORE', turns, '(' .. text(at), '+inf')
local used = redis.call('ZCARD', turns)
if used > 0 and used >= AT_ONCE then
  local free_in = redis.call('ZRANGE', turns, 0, 0, 'WITHSCORES')[2] + window - at
  local last = redis.call('ZREVRANGE', turns, 0, 0, 'WITHSCORES')[2]
  if used < calls then
    wait = math.max(wait, last + free_in / (calls - used) - at)
  else
    wait = math.max(wait, free_in)
  end
end

redis.call('ZREMRANGEBYSCORE', waiting, '-inf', text(at))
redis.call('ZREMRANGEBYSCORE', waiting, '(' .. text(at + math.max(wait, window) + LATE), '+inf')
redis.call('ZREMRANGEBYSCORE', served, '-inf', text(at - REMEMBERED))
redis.call('ZREMRANGEBYSCORE', served, text(at + LATE), '+inf')

local function has_to_yield()
  local mine = tonumber(redis.call('ZSCORE', served, agent) or 0)
  for _, member in ipairs(redis.call('ZRANGE', waiting, 0, -1)) do
    local other = string.match(member, '^!?(.*)$')
    local is_before = not is_urgent or member ~= other
    if other ~= agent and is_before and tonumber(redis.call('ZSCORE', served, other) or 0) < mine then
      return true
    end
  end
  return false
end

wait = math.ceil(wait)
if wait <= 0 and has_to_yield() then
  wait = YIELD
end
local own = (is_urgent and '!' or '') .. agent
if wait > 0 then
  if is_urgent then
    redis.call('SET', urgent, text(wait + URGENT_LATE), 'PX', wait + URGENT_LATE)
  end
  redis.call('ZADD', waiting, text(at + wait + LATE), own)
  redis.call('PEXPIRE', waiting, REMEMBERED)
  return wait
end
redis.call('ZREM', waiting, own)
redis.call('ZADD', served, text(at), agent)
redis.call('PEXPIRE', served, REMEMBERED)
redis.call('ZADD', turns, text(at), name)
redis.call('PEXPIRE', turns, window)
return 0
