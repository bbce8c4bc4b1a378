-- Move the deadline of a record that is still open.
--
-- KEYS  card, undrawn, due, audit
-- ARGV  id, prefix
--       seen      how often it was extended before the person saw it
--       deadline  the new one
--       seal      of it, or ''
--       by        the person who extends it
--       remark    the message about it in the thread
-- Returns 'extended' | 'repeat': somebody has extended it since | 'closed'

local card, undrawn, due, audit = unpack(KEYS)
local id, prefix, seen, deadline, seal, by, remark = unpack(ARGV)

local at = now()
if is_closed(card, at) then
  return 'closed'
end
local extended, waiting = unpack(redis.call('HMGET', card, 'extended', 'waiting'))
if tonumber(extended or 0) ~= tonumber(seen) then
  return 'repeat'
end
queue_look(due, id, at)
queue_drawing(undrawn, id, at)
write_audit(audit, 'extended', id, 'by', by)
add_waiting(prefix, id, waiting or '', tonumber(deadline), at)
if seal ~= '' then
  redis.call('HSET', card, 'seal:deadline', seal)
end
add_remark(card, remark, 'deadline', deadline, 'extended', seen + 1)
return 'extended'
