-- Write for whom a record waits that an older version admitted.
--
-- KEYS  card
-- ARGV  id, prefix
--       waiting  the circles of people, groups and channels, separated by spaces

local card = unpack(KEYS)
local id, prefix, waiting = unpack(ARGV)

local status, deadline, known = unpack(redis.call('HMGET', card, 'status', 'deadline', 'waiting'))
if status == 'pending' and tonumber(deadline) and not known then
  add_waiting(prefix, id, waiting, deadline, now())
  redis.call('HSET', card, 'waiting', waiting)
end
