-- End a record that knows less than one of its messages shows, because Redis went back to an older state. That message
-- stays as it is.
--
-- KEYS  req, card, undrawn, unresumed, audit
-- ARGV  id, prefix
--       part
--       code
--       reason
--       mark   of it, or ''
-- Returns 'ended' | 'unknown'

local req, card, undrawn, unresumed, audit = unpack(KEYS)
local id, prefix, part, code, reason, mark = unpack(ARGV)

if redis.call('EXISTS', req) == 0 then
  return 'unknown'
end
local shown = redis.call('HGET', card, 'part:' .. part)
if shown then
  redis.call('HSET', card, 'part:' .. part, (string.gsub(shown, '%S+$', '=')))
end
local at = now()
queue_drawing(undrawn, id, at)
local known = redis.call('HMGET', card, 'status', 'code')
if known[1] == 'refused' and known[2] == code then
  return 'ended'
end
local changes = { 'status', 'refused', 'code', code }
append_marked(changes, 'reason', reason, mark)
touch(card, at, code)
redis.call('HSET', card, unpack(changes))
redis.call('HSETNX', card, 'settled', text(at))
-- Its run may have continued before Redis went back.
redis.call('ZREM', unresumed, id)
wake_processes(req, prefix, id, WAITS)
write_audit(audit, 'refused', id, 'code', code)
drop_waiting(prefix, id, redis.call('HGET', card, 'waiting'))
return 'ended'
