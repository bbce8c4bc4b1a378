-- Fix, before the first drawing, what will judge every click.
--
-- KEYS  1 req  2 card  3 due  4 audit
-- ARGV  1 id  2 admission  3 number of actions  4 the policy's deadline in milliseconds from publication, or ''
-- Returns 'admitted' | 'known' | 'unknown'

local created, deadline = unpack(redis.call('HMGET', KEYS[1], 'created', 'deadline'))
if not created then
  return 'unknown'
end
if redis.call('HEXISTS', KEYS[2], 'status') == 1 then
  return 'known'
end
deadline = tonumber(deadline)
if ARGV[4] ~= '' then
  deadline = math.min(deadline, created + ARGV[4])
end
redis.call('HSET', KEYS[2], 'status', 'pending', 'admission', ARGV[2], 'open', ARGV[3], 'deadline', text(deadline))
redis.call('ZADD', KEYS[3], text(deadline), ARGV[1])
audit(KEYS[4], now(), 'admitted', ARGV[1])
return 'admitted'
