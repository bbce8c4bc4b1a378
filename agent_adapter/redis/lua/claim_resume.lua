-- Take, renew or (with a lease of 0) give back the right to resume a run. A bot looks at the record when the claim would
-- lapse, so that the card can say that the agent took the answer and did not go on.
--
-- KEYS  req, card, undrawn, due, wake
-- ARGV  id, prefix
--       owner
--       lease     milliseconds
--       grace     milliseconds after the deadline
--       is_read   1 to read the record with it, else 0
-- Returns {'mine', fence} | {'mine', fence, fields of req, fields of card, the server's milliseconds}
-- | {'claimed', milliseconds left} | {'unsure', milliseconds until it is known whether the holder lives} | {'pending'}
-- | {'consumed'} | {'unknown'} | {'damaged'}: a field that publishing writes is missing; fields are as in `read`

local req, card, undrawn, due, wake = unpack(KEYS)
local id, prefix, owner, lease, grace, is_read = unpack(ARGV)
local is_given_back = lease == '0'

local at = now()
local body, asked = redis.call('HEXISTS', req, 'body'), redis.call('HGET', req, 'deadline')
if body == 0 or not asked then
  return { redis.call('EXISTS', req) == 1 and 'damaged' or 'unknown' }
end
if redis.call('HEXISTS', req, 'resumed') == 1 then
  return { 'consumed' }
end
local status, deadline, lapsed = unpack(redis.call('HMGET', card, 'status', 'deadline', 'lapsed'))
if (not status or status == 'pending') and at <= (deadline or asked) + grace then
  return { 'pending' }
end
local holder = redis.call('HGET', req, 'claim_by')
if holder and holder ~= owner then
  local till, its_lease = unpack(redis.call('HMGET', req, 'claim_until', 'claim_for'))
  local left, is_new = lease_left(tonumber(till), tonumber(its_lease or lease), prefix, at)
  if is_new then
    redis.call('HSET', req, 'claim_until', text(at + left))
    return { 'unsure', left }
  elseif left > 0 then
    return { 'claimed', left }
  end
end
if not is_given_back then
  redis.call('ZADD', due, 'LT', text(at + lease + 1), id)
end
local has_lapsed = lapsed and lapsed == redis.call('HGET', req, 'fence')
if has_lapsed then
  queue_drawing(undrawn, wake, id, at)
end
if holder ~= owner or has_lapsed then
  redis.call('HINCRBY', req, 'fence', 1)
end
if is_given_back then
  redis.call('HSET', req, 'claim_by', owner, 'claim_until', '0')
else
  redis.call('HSET', req, 'claim_by', owner, 'claim_until', text(at + lease), 'claim_for', lease)
end
local fence = tonumber(redis.call('HGET', req, 'fence'))
if is_read == '0' then
  return { 'mine', fence }
end
return { 'mine', fence, redis.call('HGETALL', req), redis.call('HGETALL', card), at }
