-- Take, renew or (with a lease of 0) give back the right to run one thread. It ends by itself when nobody renews it.
--
-- KEYS  1 thread
-- ARGV  1 owner  2 lease in milliseconds
-- Returns 0, or the milliseconds for which another owner still holds it

local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then
  return math.max(1, redis.call('PTTL', KEYS[1]))
end
if ARGV[2] == '0' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return 0
