-- Note who is looking at a place. It keeps nobody from deciding, and is over by itself.
--
-- KEYS  1 card  2 undrawn  3 wake  4 due  5 audit
-- ARGV  1 id  2 place  3 the claim as the person saw it, '' for none  4 who looks from now on  5 for how many milliseconds
--       6 who hands it over, '' when it is free  7 what is said about it, or ''
-- Returns 'claimed' | 'taken': it is another than the person saw | 'closed'

local at = now()
local status, deadline = unpack(redis.call('HMGET', KEYS[1], 'status', 'deadline'))
if status ~= 'pending' or at >= tonumber(deadline) then
  return 'closed'
end
if (redis.call('HGET', KEYS[1], 'claim:' .. ARGV[2]) or '') ~= ARGV[3] then
  return 'taken'
end
-- The clock reckons anew.
redis.call('ZADD', KEYS[4], 'LT', text(at), ARGV[1])
owe(KEYS[2], KEYS[3], ARGV[1], at)
audit(KEYS[5], at, ARGV[6] == '' and 'claimed' or 'handed_over', ARGV[1], 'to', ARGV[4], 'by', ARGV[6])
if ARGV[7] ~= '' then
  redis.call('HSET', KEYS[1], 'remark:' .. redis.call('HINCRBY', KEYS[1], 'remarks', 1), ARGV[7])
end
redis.call('HSET', KEYS[1], 'claim:' .. ARGV[2], text(at) .. ' ' .. text(at + ARGV[5]) .. ' ' .. ARGV[4])
return 'claimed'
