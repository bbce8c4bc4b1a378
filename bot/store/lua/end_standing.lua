-- End a standing approval: a person revokes it, or its time is over.
--
-- KEYS  card, undrawn, standing, audit
-- ARGV  id     of the record that has it
--       index  of the action
--       by     who revokes it, or 'time'
-- Returns 'ended' | 'known': it has ended before | 'early': its time is not over | 'unknown'

local card, undrawn, standing, audit = unpack(KEYS)
local id, index, by = unpack(ARGV)

local at = now()
local till, ended = unpack(redis.call('HMGET', card, 'sticky_until:' .. index, 'sticky_ended:' .. index))
if not till then
  return 'unknown'
elseif ended then
  return 'known'
elseif by == 'time' and at < tonumber(till) then
  return 'early'
end
redis.call('HSET', card, 'sticky_ended:' .. index, text(at) .. ' ' .. by)
redis.call('ZREM', standing, id .. ':' .. index)
queue_drawing(undrawn, id, at)
write_audit(audit, 'sticky_ended', id, 'index', index, 'by', by)
return 'ended'
