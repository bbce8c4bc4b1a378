-- Give people more time, unless it is over.
--
-- KEYS  1 card  2 undrawn  3 wake  4 due  5 audit
-- ARGV  1 id  2 how often it was extended when the person saw it  3 milliseconds  4 person  5 what is said about it
-- Returns 'extended' | 'repeat': somebody did since | 'closed'

local at = now()
local status, deadline, extended = unpack(redis.call('HMGET', KEYS[1], 'status', 'deadline', 'extended'))
if status ~= 'pending' or at >= tonumber(deadline) then
  return 'closed'
end
if tonumber(extended or 0) ~= tonumber(ARGV[2]) then
  return 'repeat'
end
-- The clock reckons anew.
redis.call('ZADD', KEYS[4], 'LT', text(at), ARGV[1])
owe(KEYS[2], KEYS[3], ARGV[1], at)
audit(KEYS[5], at, 'extended', ARGV[1], 'by', ARGV[4])
redis.call('HSET', KEYS[1], 'remark:' .. redis.call('HINCRBY', KEYS[1], 'remarks', 1), ARGV[5],
  'deadline', text(deadline + ARGV[3]), 'extended', ARGV[2] + 1)
return 'extended'
