-- Count an interrupt among the open ones of its agent, unless that is more than the agent may have.
--
-- KEYS  1 held: open interrupts of the agent and their bytes  2 rate: when the agent has used up what is in its past
-- ARGV  1 id, or '' to look only  2 bytes, where it is not stored yet  3 most pending, or ''  4 most in a minute, or ''  5 most bytes, or ''  6 prefix
-- Returns {'', 0}: it is counted | {'pending' | 'bytes', how much it would be} | {'per_minute', milliseconds to wait}

local HELD_FOR = 90 * DAY
local MINUTE = 60000

local id, size = ARGV[1], tonumber(ARGV[2])
if id ~= '' then
  if redis.call('HEXISTS', KEYS[1], id) == 1 then
    return { '', 0 }
  end
  size = redis.call('HSTRLEN', ARGV[6] .. 'req:' .. id, 'body') + redis.call('HSTRLEN', ARGV[6] .. 'run:' .. id, 'continuation')
end

local function used()
  local count, bytes = 0, 0
  for _, each in ipairs(redis.call('HVALS', KEYS[1])) do
    count, bytes = count + 1, bytes + each
  end
  return count, bytes
end

local function over(count, bytes)
  if ARGV[3] ~= '' and count + 1 > tonumber(ARGV[3]) then
    return 'pending', count
  elseif ARGV[5] ~= '' and bytes + size > tonumber(ARGV[5]) then
    return 'bytes', bytes + size
  end
end

-- Decisions do not touch this count, since clicks have enough to do: what has ended is found when room is needed.
local function forget_ended()
  for _, other in ipairs(redis.call('HKEYS', KEYS[1])) do
    local status = try('HGET', ARGV[6] .. 'card:' .. other, 'status')
    if status and status ~= 'pending' or redis.call('EXISTS', ARGV[6] .. 'req:' .. other) == 0 then
      redis.call('HDEL', KEYS[1], other)
    end
  end
end

local what, much = over(used())
if what then
  forget_ended()
  what, much = over(used())
end
if what then
  return { what, much }
end
local at = now()
local past = tonumber(redis.call('GET', KEYS[2]) or 0)
-- More than a minute ahead: the server's clock was set back.
past = past > at + MINUTE and at or math.max(at, past)
if ARGV[4] ~= '' then
  local each = MINUTE / ARGV[4]
  if past + each > at + MINUTE then
    return { 'per_minute', math.ceil(past + each - at - MINUTE) }
  end
  past = past + each
end
if id ~= '' then
  redis.call('SET', KEYS[2], text(past), 'PX', MINUTE)
  redis.call('HSET', KEYS[1], id, size)
  redis.call('PEXPIRE', KEYS[1], HELD_FOR)
end
return { '', 0 }
