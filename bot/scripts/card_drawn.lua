-- Note what Slack shows of one message, and let it go. Without a picture: nothing was sent.
--
-- KEYS  1 card
-- ARGV  1 part  2 owner of the lease  3 what is shown, '' when nothing was sent, '-' when it is gone
-- Returns 'drawn' | 'lost': the lease went to somebody else

local held = redis.call('HGET', KEYS[1], 'lease:' .. ARGV[1]) or ''
if string.match(held, '^%S+') ~= ARGV[2] then
  return 'lost'
end

-- The place of what is gone is noted, so that a late click on it decides nothing.
local function forget(part)
  local shown = redis.call('HGET', KEYS[1], 'part:' .. part)
  if shown then
    local gone = redis.call('HGET', KEYS[1], 'gone') or ''
    redis.call('HSET', KEYS[1], 'gone', gone .. string.match(shown, '^%S+ %S+') .. '\n')
  end
  redis.call('HDEL', KEYS[1], 'part:' .. part, 'lease:' .. part, 'up:' .. part)
end

redis.call('HDEL', KEYS[1], 'lease:' .. ARGV[1])
if ARGV[3] == '-' then
  forget(ARGV[1])
  -- The parts of a card stand in its thread, so they go with it. What is from 1000 on only remarks on it.
  local place = string.match(ARGV[1], '^(%d+):0$')
  for _, field in ipairs(place and redis.call('HKEYS', KEYS[1]) or {}) do
    local number = string.match(field, '^part:' .. place .. ':(%d+)$')
    if number and tonumber(number) < 1000 then
      forget(place .. ':' .. number)
    end
  end
elseif ARGV[3] ~= '' then
  local before = redis.call('HGET', KEYS[1], 'part:' .. ARGV[1])
  if not before or string.match(before, '^%S+ %S+') ~= string.match(ARGV[3], '^%S+ %S+') then
    redis.call('HSET', KEYS[1], 'up:' .. ARGV[1], text(now()))
  end
  redis.call('HSET', KEYS[1], 'part:' .. ARGV[1], ARGV[3])
end
return 'drawn'
