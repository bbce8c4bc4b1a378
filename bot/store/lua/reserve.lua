-- Count an interrupt among the open ones of its agent, unless that breaks a limit of the agent, and read for
-- whom keys of the HTTP API say that the agent acts. What is not plain text there was not written by a bot, and is left out.
--
-- KEYS  held     open interrupts of the agent and their bytes
--       rate     until when the agent has used its requests of a minute
--       vouched  for whom keys of the HTTP API say that the agent acts
-- ARGV  prefix
--       interrupt        its id, or '' to check the limits without counting
--       size             bytes of an interrupt that is not stored yet
--       most_pending
--       most_per_minute  or ''
--       most_bytes       or ''
-- Returns {'', 0, people}: no limit is broken
-- | {'pending' | 'bytes', how much it would be} | {'per_minute', milliseconds to wait}

local held, rate, vouched = unpack(KEYS)
local prefix, interrupt, size, most_pending, most_per_minute, most_bytes = unpack(ARGV)
local HELD_FOR = 90 * DAY
local MINUTE = 60000
local is_counted = interrupt ~= ''

local function plain(text)
  return text and not string.find(text, '[^ -~]') and text or nil
end

local function counted()
  local people = {}
  for _, person in ipairs(try('SMEMBERS', vouched) or {}) do
    append(people, plain(person))
  end
  return { '', 0, people }
end

if is_counted then
  if redis.call('HEXISTS', held, interrupt) == 1 then
    return counted()
  end
  size = redis.call('HSTRLEN', prefix .. 'req:' .. interrupt, 'body')
    + redis.call('HSTRLEN', prefix .. 'run:' .. interrupt, 'continuation')
end

local function over()
  local count, bytes = 0, tonumber(size)
  for _, each in ipairs(redis.call('HVALS', held)) do
    count, bytes = count + 1, bytes + each
  end
  if count >= tonumber(most_pending) then
    return 'pending', count
  elseif most_bytes ~= '' and bytes > tonumber(most_bytes) then
    return 'bytes', bytes
  end
end

-- Records that have ended are removed only when a limit is reached, so that a click has less to do.
local function forget_ended()
  for _, other in ipairs(redis.call('HKEYS', held)) do
    local status = try('HGET', prefix .. 'card:' .. other, 'status')
    if status and status ~= 'pending' or redis.call('EXISTS', prefix .. 'req:' .. other) == 0 then
      redis.call('HDEL', held, other)
    end
  end
end

local limit, amount = over()
if limit then
  forget_ended()
  limit, amount = over()
end
if limit then
  return { limit, amount }
end
local at = now()
local until_free = tonumber(redis.call('GET', rate) or 0)
-- A time more than a minute ahead says that the server's clock was set back.
until_free = until_free > at + MINUTE and at or math.max(at, until_free)
if most_per_minute ~= '' then
  until_free = until_free + MINUTE / most_per_minute
  if until_free > at + MINUTE then
    return { 'per_minute', math.ceil(until_free - at - MINUTE) }
  elseif is_counted then
    redis.call('SET', rate, text(until_free), 'PX', MINUTE)
  end
end
if is_counted then
  redis.call('HSET', held, interrupt, size)
  redis.call('PEXPIRE', held, HELD_FOR)
end
return counted()
