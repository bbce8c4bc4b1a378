-- Note how many pages of an action a person was shown.
--
-- KEYS  card
-- ARGV  index
--       user
--       pages  fingerprint of the call and how many of its pages
--       mark   of the bot, or ''
-- Returns 'marked' | 'unknown'

local card = unpack(KEYS)
local index, user, pages, mark = unpack(ARGV)

if redis.call('EXISTS', card) == 0 then
  return 'unknown'
end
local fields = {}
append_marked(fields, 'seen:' .. index .. ':' .. user, pages, mark)
redis.call('HSET', card, unpack(fields))
return 'marked'
