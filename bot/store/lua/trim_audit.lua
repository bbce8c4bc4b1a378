-- Take the oldest entries out of the audit trail, up to the last one that is kept elsewhere.
--
-- KEYS  audit, audit_move
-- ARGV  process  that has the lease
--       last     number of that entry
-- Returns 1, or 0: another process has the lease by now

local audit, audit_move = unpack(KEYS)
local process, last = unpack(ARGV)

if redis.call('HGET', audit_move, 'owner') ~= process then
  return 0
end
local at, count = string.match(last, '^(%d+)-(%d+)$')
redis.call('XTRIM', audit, 'MINID', at .. '-' .. text(count + 1))
return 1
