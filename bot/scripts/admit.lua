-- Fix, before the first drawing, what will judge every click.
--
-- KEYS  1 req  2 card  3 due  4 audit
-- ARGV  1 id  2 number of actions  3 the policy's deadline in milliseconds from publication, or ''
--       4 1 when something happens before the deadline, else 0  5.. fields of the admission and their values
-- Returns 'admitted' | 'known' | 'unknown'

local created, deadline = unpack(redis.call('HMGET', KEYS[1], 'created', 'deadline'))
if not created then
  return 'unknown'
end
if redis.call('HEXISTS', KEYS[2], 'status') == 1 then
  return 'known'
end
deadline = tonumber(deadline)
if ARGV[3] ~= '' then
  deadline = math.min(deadline, created + ARGV[3])
end
redis.call('HSET', KEYS[2], 'status', 'pending', 'open', ARGV[2], 'deadline', text(deadline), unpack(ARGV, 5))
-- The clock reckons what comes first. LT: a withdrawal that was asked for before may be due already.
redis.call('ZADD', KEYS[3], 'LT', text(ARGV[4] == '1' and now() or deadline), ARGV[1])
audit(KEYS[4], now(), 'admitted', ARGV[1], 'policy', redis.call('HGET', KEYS[2], 'policy'))
return 'admitted'
