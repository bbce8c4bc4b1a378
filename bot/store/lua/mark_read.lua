-- Note how many pages of an action a person was shown.
--
-- KEYS  card
-- ARGV  index
--       user
--       pages  fingerprint of the call and how many of its pages

local card = unpack(KEYS)
local index, user, pages = unpack(ARGV)

if redis.call('EXISTS', card) == 1 then
  redis.call('HSET', card, 'seen:' .. index .. ':' .. user, pages)
end
