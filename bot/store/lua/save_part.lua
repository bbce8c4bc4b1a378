-- Note what Slack shows of one message, and end its lease.
--
-- KEYS  card
-- ARGV  part
--       owner         of the lease
--       picture       what is shown, '' when nothing was sent, '-' when it is gone
--       mark          of where it is, or ''
--       remarks_from  the first number of a message that is not a part of a card
-- Returns 'drawn' | 'lost': another process has the lease

local card = unpack(KEYS)
local part, owner, picture, mark, remarks_from = unpack(ARGV)
local PLACE_OF = '^%S+ %S+'

local lease = redis.call('HGET', card, 'lease:' .. part) or ''
if string.match(lease, '^%S+') ~= owner then
  return 'lost'
end

-- Channel and ts of a deleted message are kept, so that a late click on it decides nothing.
local function forget(each)
  local shown = redis.call('HGET', card, 'part:' .. each)
  if shown then
    local gone = redis.call('HGET', card, 'gone') or ''
    -- What was judged before is judged again.
    local version = next_version(redis.call('HGET', card, 'version') or '', now(), { each })
    redis.call('HSET', card, 'version', version, 'gone', gone .. string.match(shown, PLACE_OF) .. '\n')
  end
  redis.call('HDEL', card, 'part:' .. each, 'seal:part:' .. each, 'lease:' .. each, 'up:' .. each)
end

redis.call('HDEL', card, 'lease:' .. part)
if picture == '-' then
  forget(part)
  -- The parts of a card are in its thread, so they are deleted with it.
  local place = string.match(part, '^(%d+):0$')
  for _, field in ipairs(place and redis.call('HKEYS', card) or {}) do
    local number = string.match(field, '^part:' .. place .. ':(%d+)$')
    if number and tonumber(number) < tonumber(remarks_from) then
      forget(place .. ':' .. number)
    end
  end
elseif picture ~= '' then
  local before = redis.call('HGET', card, 'part:' .. part)
  if not before or string.match(before, PLACE_OF) ~= string.match(picture, PLACE_OF) then
    redis.call('HSET', card, 'up:' .. part, text(now()))
  end
  redis.call('HSET', card, 'part:' .. part, picture)
  if mark ~= '' then
    redis.call('HSET', card, 'seal:part:' .. part, mark)
  end
end
return 'drawn'
