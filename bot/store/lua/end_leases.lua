-- Make all work due now that is leased, or waits, for less than a lease.
--
-- KEYS  owed   undrawn or due
-- ARGV  lease  milliseconds

local owed = unpack(KEYS)
local lease = unpack(ARGV)

local at = now()
for _, id in ipairs(redis.call('ZRANGEBYSCORE', owed, '(' .. text(at), text(at + lease))) do
  redis.call('ZADD', owed, text(at), id)
end
