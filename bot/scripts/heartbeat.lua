-- Say that a bot process lives or has ended, and forget those that have not said so for a day. Where the server's clock was
-- set back since the last sign of life, what was leased or put off before comes due.
--
-- KEYS  1 bots  2 clock  3 undrawn  4 due  5 unresumed  6 watched  7 epoch
-- ARGV  1 process  2 1 while it lives, 0 when it ends  3 where the process has noticed by its own clock that this one was
--       set: within how many milliseconds, else 0  4 how many milliseconds ago Slack last carried out
--       a call of it, '' when Slack cannot be used
-- Returns {how many others have said so within half a minute, the server's milliseconds, how often any bot has said so,
-- when this one did before or ''}

local SLACK = 1000
local LONGEST = 600000
local SILENT = 30000

local at = now()
local before = redis.call('ZSCORE', KEYS[1], ARGV[1]) or ''
local latest = tonumber(redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] or 0)
local is_back = latest > at + SLACK
if is_back then
  for _, process in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. text(at), '+inf')) do
    redis.call('ZADD', KEYS[1], text(at), process)
  end
  for i = 3, 5 do
    -- A deadline among them is looked at once, and stays where it is.
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[i], '(' .. text(at), text(latest + LONGEST))) do
      redis.call('ZADD', KEYS[i], text(at), id)
    end
  end
end
if is_back or ARGV[3] ~= '0' then
  redis.call('SET', KEYS[2], text(at - ARGV[3]))
end
if ARGV[2] == '1' then
  redis.call('ZADD', KEYS[1], text(at), ARGV[1])
else
  redis.call('ZREM', KEYS[1], ARGV[1])
end
-- Since when people can press buttons without a gap: somebody's last sign of life is never older than one ever is.
local heard = tonumber(redis.call('HGET', KEYS[6], 'heard') or 0)
if ARGV[2] == '0' then
  if redis.call('ZCOUNT', KEYS[1], text(at - UNSEEN), '+inf') == 0 then
    redis.call('DEL', KEYS[6])
  end
elseif ARGV[4] ~= '' then
  local answered = at - ARGV[4]
  if heard > at or answered - heard > UNSEEN then
    redis.call('HSET', KEYS[6], 'since', text(answered))
  end
  if heard > at or answered > heard then
    redis.call('HSET', KEYS[6], 'heard', text(answered))
  end
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', text(at - DAY))
return {
  redis.call('ZCOUNT', KEYS[1], text(at - SILENT), '+inf') - tonumber(ARGV[2]), at, redis.call('INCR', KEYS[7]), before
}
