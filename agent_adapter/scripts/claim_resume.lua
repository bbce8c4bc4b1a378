-- Take, renew or (with a lease of 0) give back the right to resume a run.
--
-- KEYS  1 req  2 card
-- ARGV  1 owner  2 lease in milliseconds  3 grace after the deadline  4 1 to read the record with it, else 0
-- Returns {'mine', fence} | {'mine', fence, fields of req, fields of card, the server's milliseconds}
-- | {'claimed', milliseconds left} | {'pending'} | {'consumed'} | {'unknown'}; fields are as in `read`

local at = now()
local deadline = redis.call('HGET', KEYS[1], 'deadline')
if not deadline then
  return { 'unknown' }
end
if redis.call('HEXISTS', KEYS[1], 'resumed') == 1 then
  return { 'consumed' }
end
local status, known = unpack(redis.call('HMGET', KEYS[2], 'status', 'deadline'))
if (not status or status == 'pending') and at <= (known or deadline) + ARGV[3] then
  return { 'pending' }
end
local owner = redis.call('HGET', KEYS[1], 'claim_by')
local left = (redis.call('HGET', KEYS[1], 'claim_until') or 0) - at
if owner and owner ~= ARGV[1] and left > 0 then
  return { 'claimed', left }
end
if owner ~= ARGV[1] then
  redis.call('HINCRBY', KEYS[1], 'fence', 1)
end
redis.call('HSET', KEYS[1], 'claim_by', ARGV[1], 'claim_until', text(at + ARGV[2]))
local fence = tonumber(redis.call('HGET', KEYS[1], 'fence'))
if ARGV[4] == '0' then
  return { 'mine', fence }
end
return { 'mine', fence, redis.call('HGETALL', KEYS[1]), redis.call('HGETALL', KEYS[2]), at }
