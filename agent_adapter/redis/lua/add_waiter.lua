-- Note that a process waits for a record.
--
-- KEYS  req
-- ARGV  process
--       follows  1 when it wants to know of each decision, 0 when only of the end
-- Returns 'noted' | 'unknown'

local req = unpack(KEYS)
local process, follows = unpack(ARGV)

if redis.call('EXISTS', req) == 0 then
  return 'unknown'
end
redis.call('HSET', req, WAITS .. process, '1')
if follows == '1' then
  redis.call('HSET', req, FOLLOWS .. process, '1')
end
return 'noted'
