-- Stands before every script. Bodies and decisions pass through as opaque text: cjson would turn [] into {}
-- and 64-bit integers into floats. Keys that only the record knows (who waits, which pauses) are built from the
-- lane's prefix and share its hash tag with KEYS.

local DAY = 86400000
local UNTAKEN = 30 * DAY
local TAKEN = 7 * DAY

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function text(number)
  return string.format('%.0f', number)
end

-- Say that a card must be drawn anew, and wake whoever draws.
local function owe(undrawn, wake, id, at)
  redis.call('ZADD', undrawn, text(at), id)
  redis.call('XADD', wake, 'MAXLEN', '~', 1000, '*', 'id', id)
end

-- Wake the processes that still live: who waits for this record ('w:'), or only who follows each decision ('f:').
local function notify(req, prefix, id, who)
  for _, field in ipairs(redis.call('HKEYS', req)) do
    if string.sub(field, 1, 2) == who then
      redis.call('XADD', prefix .. 'replies:' .. string.sub(field, 3), 'NOMKSTREAM', 'MAXLEN', '~', 10000, '*', 'id', id)
    end
  end
end

-- Let a record's keys end after this time.
local function retire(req, card, prefix, milliseconds)
  for digest in string.gmatch(redis.call('HGET', req, 'pauses') or '', '%S+') do
    redis.call('PEXPIRE', prefix .. 'pause:' .. digest, milliseconds)
  end
  redis.call('PEXPIRE', req, milliseconds)
  redis.call('PEXPIRE', card, milliseconds)
end

local function audit(stream, at, event, id, ...)
  redis.call('XADD', stream, 'MINID', '~', text(at - 90 * DAY), '*', 'event', event, 'id', id, ...)
end
