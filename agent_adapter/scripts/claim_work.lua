-- Take what is due from a set of owed work, by moving it a lease ahead.
--
-- KEYS  1 undrawn, due or unresumed
-- ARGV  1 how many  2 lease in milliseconds
-- Returns {id, lease, id, lease, …}: the lease names this claim when the work is finished

local at = now()
local lease = text(at + ARGV[2])
local taken = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(at), 'LIMIT', 0, ARGV[1])) do
  redis.call('ZADD', KEYS[1], lease, id)
  taken[#taken + 1] = id
  taken[#taken + 1] = lease
end
return taken
