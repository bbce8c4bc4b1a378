-- Note how many pages of an action a person was shown.
--
-- KEYS  card
-- ARGV  index
--       user
--       pages  fingerprint of the call and how many of its pages
--       mark   of the bot, or ''

local card = unpack(KEYS)
local index, user, pages, mark = unpack(ARGV)

if redis.call('EXISTS', card) == 1 then
  local fields = {}
  append_marked(fields, 'seen:' .. index .. ':' .. user, pages, mark)
  redis.call('HSET', card, unpack(fields))
end
