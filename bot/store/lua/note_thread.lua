-- Note under which message the card of a place stands. The first note counts, and the card is posted after it.
--
-- KEYS  card
-- ARGV  place
--       under    the ts of that message, '-' for none
--       mark     of the bot, or ''
--       instead  the message that is gone, or '': the note about it is replaced

local card = unpack(KEYS)
local place, under, mark, instead = unpack(ARGV)

local field = 'under:' .. place
local known = redis.call('HGET', card, field)
if redis.call('EXISTS', card) == 1 and (not known or known == instead) then
  local fields = {}
  append_marked(fields, field, under, mark)
  redis.call('HSET', card, unpack(fields))
end
