-- Note that it is unknown what one message shows, and have it drawn again: it was drawn over, or it is gone.
--
-- KEYS  card, undrawn
-- ARGV  id
--       part
--       ts    do so only if the message still has this ts; '' for any ts

local card, undrawn = unpack(KEYS)
local id, part, ts = unpack(ARGV)

local shown = redis.call('HGET', card, 'part:' .. part)
if shown and (ts == '' or string.match(shown, '^%S+ (%S+)') == ts) then
  redis.call('HSET', card, 'part:' .. part, (string.gsub(shown, '%S+$', '?')))
  queue_drawing(undrawn, id, now())
end
