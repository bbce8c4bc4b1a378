-- Take, renew or (with a lease of 0) give back the right to run one thread. It expires if nobody renews it.
--
-- KEYS  thread
-- ARGV  owner
--       lease  milliseconds
-- Returns 0, or the milliseconds for which another owner still holds it

local thread = unpack(KEYS)
local owner, lease = unpack(ARGV)

local holder = redis.call('GET', thread)
if holder and holder ~= owner then
  return math.max(1, redis.call('PTTL', thread))
end
if lease == '0' then
  redis.call('DEL', thread)
else
  redis.call('SET', thread, owner, 'PX', lease)
end
return 0
