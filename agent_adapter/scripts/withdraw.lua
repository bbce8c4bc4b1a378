-- Ask the bot to withdraw a record that is still open.
--
-- KEYS  1 req  2 card  3 due  4 audit
-- ARGV  1 id  2 reason
-- Returns 'asked' | 'unknown' | the status it already ended with

if redis.call('EXISTS', KEYS[1]) == 0 then
  return 'unknown'
end
local status = redis.call('HGET', KEYS[2], 'status')
if status and status ~= 'pending' then
  return status
end
if redis.call('HEXISTS', KEYS[1], 'withdraw') == 0 then
  local at = now()
  redis.call('ZADD', KEYS[3], text(at), ARGV[1])
  audit(KEYS[4], at, 'withdraw_asked', ARGV[1])
  redis.call('HSET', KEYS[1], 'withdraw', ARGV[2])
end
return 'asked'
