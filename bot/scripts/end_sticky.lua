-- End a sticky approval: revoked by a person, or when its time is over.
--
-- KEYS  1 card of the record that it was given in  2 undrawn  3 wake  4 sticky  5 audit
-- ARGV  1 id of that record  2 index of the action  3 who revokes it, or 'time'
-- Returns 'ended' | 'known': it has ended before | 'early': its time is not over | 'unknown'

local at = now()
local till, ended = unpack(redis.call('HMGET', KEYS[1], 'sticky_until:' .. ARGV[2], 'sticky_ended:' .. ARGV[2]))
if not till then
  return 'unknown'
elseif ended then
  return 'known'
elseif ARGV[3] == 'time' and at < tonumber(till) then
  return 'early'
end
redis.call('HSET', KEYS[1], 'sticky_ended:' .. ARGV[2], text(at) .. ' ' .. ARGV[3])
redis.call('ZREM', KEYS[4], ARGV[1] .. ':' .. ARGV[2])
owe(KEYS[2], KEYS[3], ARGV[1], at)
audit(KEYS[5], at, 'sticky_ended', ARGV[1], 'index', ARGV[2], 'by', ARGV[3])
return 'ended'
