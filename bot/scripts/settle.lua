-- End a record without further decisions.
--
-- KEYS  1 req  2 card  3 undrawn  4 wake  5 due  6 audit  7 unresumed
-- ARGV  1 id  2 'expired' | 'withdrawn' | 'refused'  3 reason  4 code  5 prefix
-- Returns 'settled' | 'early': the deadline is not reached | the status it already ended with | 'unknown'

if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('ZREM', KEYS[5], ARGV[1])
  return 'unknown'
end
local at = now()
local status, deadline = unpack(redis.call('HMGET', KEYS[2], 'status', 'deadline'))
if status and status ~= 'pending' then
  redis.call('ZREM', KEYS[5], ARGV[1])
  return status
end
if ARGV[2] == 'expired' and at < tonumber(deadline or redis.call('HGET', KEYS[1], 'deadline')) then
  return 'early'
end
redis.call('HSET', KEYS[2], 'status', ARGV[2], 'reason', ARGV[3], 'code', ARGV[4], 'settled', text(at))
redis.call('ZREM', KEYS[5], ARGV[1])
-- An agent whose deadline and grace passed without a bot may have gone on already.
keep_for_taker(KEYS[7], KEYS[1], KEYS[2], ARGV[5], ARGV[1], at)
notify(KEYS[1], ARGV[5], ARGV[1], 'w:')
owe(KEYS[3], KEYS[4], ARGV[1], at)
audit(KEYS[6], at, ARGV[2], ARGV[1], 'code', ARGV[4])
return 'settled'
