-- Note how many pages of an action a person was shown.
--
-- KEYS  card
-- ARGV  index
--       user
--       pages  fingerprint of the call and how many of its pages
--       mark   of the bot, or ''
--       age    milliseconds since it was called first: above 0, what is there is as new
-- Returns 'marked' | 'unknown'

local card = unpack(KEYS)
local index, user, pages, mark, age = unpack(ARGV)

if redis.call('EXISTS', card) == 0 then
  return 'unknown'
end
local seen, fields = 'seen:' .. index .. ':' .. user, {}
if age == '0' or redis.call('HEXISTS', card, seen) == 0 then
  append_marked(fields, seen, pages, mark)
  redis.call('HSET', card, unpack(fields))
end
return 'marked'
