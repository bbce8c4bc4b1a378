-- Move the deadline of a record that is still open.
--
-- KEYS  card, undrawn, due, audit
-- ARGV  id, prefix
--       seen      how often it was extended before the person saw it
--       deadline  the new one
--       mark      of it, or ''
--       by        the person who extends it
--       remark    the message about it in the thread
--       remark_mark
-- Returns 'extended' | 'repeat': somebody has extended it since | 'closed'

local card, undrawn, due, audit = unpack(KEYS)
local id, prefix, seen, deadline, mark, by, remark, remark_mark = unpack(ARGV)

local at = now()
local extended, waiting = unpack(redis.call('HMGET', card, 'extended', 'waiting'))
if tonumber(extended or 0) > tonumber(seen) then
  return 'repeat'
elseif is_closed(card, at) then
  return 'closed'
end
queue_look(due, id, at)
queue_drawing(undrawn, id, at)
write_audit(audit, 'extended', id, 'by', by)
add_waiting(prefix, id, waiting or '', tonumber(deadline), at)
local fields = { 'extended', seen + 1 }
append_marked(fields, 'deadline', deadline, mark)
add_remark(card, remark, remark_mark, unpack(fields))
return 'extended'
