-- Note that a bot process is alive or has ended, and forget those without a heartbeat for a day. When the server's clock
-- was set back since the last heartbeat, everything that was leased or put off before comes due.
--
-- KEYS  undrawn, due, unresumed, bots, epoch, clock, watched, server
-- ARGV  process
--       is_alive        1 while it is alive, 0 when it ends
--       stepped_within  when the process saw that this clock was set: within how many milliseconds before now; else 0
--       quiet_for       milliseconds since Slack last carried out one of its calls, '' when Slack cannot be used
-- Returns {the server's milliseconds, how many heartbeats all bots have sent, which run of which server this is}

local undrawn, due, unresumed, bots, epoch, clock, watched, server = unpack(KEYS)
local process, is_alive, stepped_within, quiet_for = unpack(ARGV)
-- A smaller step is an ordinary correction of the clock.
local SMALL_STEP = 1000
-- Work that was leased or put off lies at most this far ahead of the old clock.
local PUT_OFF_AT_MOST = 600000

local at = now()
local latest = tonumber(redis.call('ZREVRANGE', bots, 0, 0, 'WITHSCORES')[2] or 0)
local is_back = latest > at + SMALL_STEP
if is_back then
  for _, other in ipairs(redis.call('ZRANGEBYSCORE', bots, '(' .. text(at), '+inf')) do
    redis.call('ZADD', bots, text(at), other)
  end
  for _, owed in ipairs({ undrawn, due, unresumed }) do
    -- A deadline among them is checked once, and does not move.
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', owed, '(' .. text(at), text(latest + PUT_OFF_AT_MOST))) do
      redis.call('ZADD', owed, text(at), id)
    end
  end
end
if is_back or stepped_within ~= '0' then
  redis.call('SET', clock, text(at - stepped_within))
end
if is_alive == '1' then
  redis.call('ZADD', bots, text(at), process)
else
  redis.call('ZREM', bots, process)
end
-- Keep since when people could press buttons without a gap: there was never a longer silence than LONGEST_SILENCE.
local heard = tonumber(redis.call('HGET', watched, 'heard') or 0)
if is_alive == '0' then
  if redis.call('ZCOUNT', bots, text(at - LONGEST_SILENCE), '+inf') == 0 then
    redis.call('DEL', watched)
  end
elseif quiet_for ~= '' then
  local answered = at - quiet_for
  if heard > at or answered - heard > LONGEST_SILENCE then
    redis.call('HSET', watched, 'since', text(answered))
  end
  if heard > at or answered > heard then
    redis.call('HSET', watched, 'heard', text(answered))
  end
end
local epochs, id = redis.call('INCR', epoch), server_identity()
local known, since = unpack(redis.call('HMGET', server, 'id', 'since'))
if id ~= known then
  -- The first bot of a namespace meets no claim and no decision that could be lost.
  redis.call('HSET', server, 'id', id, 'since', epochs == 1 and '0' or text(at))
elseif tonumber(since) > at then
  redis.call('HSET', server, 'since', text(at))
end
redis.call('ZREMRANGEBYSCORE', bots, '-inf', text(at - DAY))
return { at, epochs, id }
