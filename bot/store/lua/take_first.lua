-- Say which record has the first card of its run in a channel. Without one, or instead of one that has no card, it is this
-- record.
--
-- KEYS  first
-- ARGV  id
--       instead  the record that has no card, or ''
--       kept     milliseconds

local first = unpack(KEYS)
local id, instead, kept = unpack(ARGV)

local known = redis.call('GET', first)
if not known or known == instead then
  known = id
end
redis.call('SET', first, known, 'PX', kept)
return known
