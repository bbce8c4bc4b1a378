-- Give a turn within a rate limit, or note that nobody gets one for a while. A few turns are given at once, and the rest evenly.
-- The agent that had the last turn gets one less at once, so another agent goes before it.
--
-- KEYS  turns    lives for as long as the turns that were given take, one after the other
--       urgent   exists while an urgent call waits
--       last     the agent that had the last turn
-- ARGV  every      milliseconds from one turn to the next
--       ahead      by how many milliseconds turns are given early
--       is_urgent  1 | 0
--       agent      who asks, or '' where agents do not matter
--       pause      milliseconds for which nobody gets a turn, or '' to ask for one
-- Returns milliseconds to wait, 0 to go

local turns, urgent, last = unpack(KEYS)
local every, ahead, is_urgent, agent, pause = unpack(ARGV)
-- An urgent call keeps the others waiting for this long after its own wait.
local URGENT_LATE = 100
local REMEMBERED = 60000

local function keep(key, milliseconds)
  redis.call('SET', key, text(milliseconds), 'PX', text(milliseconds))
end

local taken = time_left(turns)
if pause ~= '' then
  keep(turns, math.max(taken, pause + ahead))
  return 0
end
if agent ~= '' and redis.call('GET', last) == agent then
  ahead = math.max(0, ahead - every)
end
local wait = taken - ahead
if is_urgent == '0' then
  wait = math.max(wait, time_left(urgent))
elseif wait > 0 then
  keep(urgent, wait + URGENT_LATE)
end
if wait > 0 then
  return wait
end
keep(turns, taken + every)
redis.call('SET', last, agent, 'PX', text(taken + every + REMEMBERED))
return 0
