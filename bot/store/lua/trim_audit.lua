-- Note which entry of the audit trail is in a folder, or take the oldest entries out of Redis.
--
-- KEYS  audit, audit_move
-- ARGV  process  that has the lease
--       moved    the last entry that is in a folder: its number and its seq; '' to note nothing
--       last     number of the last entry that goes; '' when none does
-- Returns 1, or 0: another process has the lease by now

local audit, audit_move = unpack(KEYS)
local process, moved, last = unpack(ARGV)

if redis.call('HGET', audit_move, 'owner') ~= process then
  return 0
end
if moved ~= '' then
  redis.call('HSET', audit_move, 'moved', moved)
end
if last ~= '' then
  local at, count = string.match(last, '^(%d+)-(%d+)$')
  redis.call('XTRIM', audit, 'MINID', at .. '-' .. text(count + 1))
end
return 1
