-- End a record that knows less than one of its messages shows: Redis went back to an older state. That message stays.
--
-- KEYS  1 req  2 card  3 undrawn  4 wake  5 audit  6 unresumed
-- ARGV  1 id  2 part  3 code  4 reason  5 prefix
-- Returns 'ended' | 'unknown'

if redis.call('EXISTS', KEYS[1]) == 0 then
  return 'unknown'
end
local at = now()
local part = 'part:' .. ARGV[2]
local shown = redis.call('HGET', KEYS[2], part)
if shown then
  redis.call('HSET', KEYS[2], part, (string.gsub(shown, '%S+$', '=')))
end
redis.call('HSET', KEYS[2], 'status', 'refused', 'code', ARGV[3], 'reason', ARGV[4])
redis.call('HSETNX', KEYS[2], 'settled', text(at))
-- Its run may have gone on before.
redis.call('ZREM', KEYS[6], ARGV[1])
notify(KEYS[1], ARGV[5], ARGV[1], 'w:')
owe(KEYS[3], KEYS[4], ARGV[1], at)
audit(KEYS[5], at, 'refused', ARGV[1], 'code', ARGV[3])
return 'ended'
