-- Take, renew or (with a lease of 0) give back the right to resume a run. A bot looks when the claim would lapse, so that
-- the card can say that its agent took the answer and did not go on.
--
-- KEYS  1 req  2 card  3 due  4 undrawn  5 wake
-- ARGV  1 owner  2 lease in milliseconds  3 grace after the deadline  4 1 to read the record with it, else 0  5 id  6 prefix
-- Returns {'mine', fence} | {'mine', fence, fields of req, fields of card, the server's milliseconds}
-- | {'claimed', milliseconds left} | {'unsure', milliseconds until it is known whether the holder lives} | {'pending'}
-- | {'consumed'} | {'unknown'} | {'damaged'}: a field that publishing writes is missing; fields are as in `read`

local at = now()
local body, deadline = redis.call('HEXISTS', KEYS[1], 'body'), redis.call('HGET', KEYS[1], 'deadline')
if body == 0 or not deadline then
  return { redis.call('EXISTS', KEYS[1]) == 1 and 'damaged' or 'unknown' }
end
if redis.call('HEXISTS', KEYS[1], 'resumed') == 1 then
  return { 'consumed' }
end
local status, known, lapsed = unpack(redis.call('HMGET', KEYS[2], 'status', 'deadline', 'lapsed'))
if (not status or status == 'pending') and at <= (known or deadline) + ARGV[3] then
  return { 'pending' }
end
local owner = redis.call('HGET', KEYS[1], 'claim_by')
if owner and owner ~= ARGV[1] then
  local till, lease = unpack(redis.call('HMGET', KEYS[1], 'claim_until', 'claim_for'))
  local left, anew = left_of(tonumber(till), tonumber(lease or ARGV[2]), ARGV[6], at)
  if anew then
    redis.call('HSET', KEYS[1], 'claim_until', text(at + left))
    return { 'unsure', left }
  elseif left > 0 then
    return { 'claimed', left }
  end
end
if ARGV[2] ~= '0' then
  redis.call('ZADD', KEYS[3], 'LT', text(at + ARGV[2] + 1), ARGV[5])
end
local has_lapsed = lapsed and lapsed == redis.call('HGET', KEYS[1], 'fence')
if has_lapsed then
  owe(KEYS[4], KEYS[5], ARGV[5], at)
end
if owner ~= ARGV[1] or has_lapsed then
  redis.call('HINCRBY', KEYS[1], 'fence', 1)
end
if ARGV[2] == '0' then
  redis.call('HSET', KEYS[1], 'claim_by', ARGV[1], 'claim_until', '0')
else
  redis.call('HSET', KEYS[1], 'claim_by', ARGV[1], 'claim_until', text(at + ARGV[2]), 'claim_for', ARGV[2])
end
local fence = tonumber(redis.call('HGET', KEYS[1], 'fence'))
if ARGV[4] == '0' then
  return { 'mine', fence }
end
return { 'mine', fence, redis.call('HGETALL', KEYS[1]), redis.call('HGETALL', KEYS[2]), at }
