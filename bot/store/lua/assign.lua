-- Assign a place to a person who is looking at it. Other people can still decide. The assignment ends with its time.
--
-- KEYS  card, undrawn, due, audit
-- ARGV  id
--       place
--       seen      the assignment as the person saw it, '' for none
--       user      the new holder
--       claim     the new assignment
--       mark      of it, or ''
--       by        the person who hands it over, '' when it is free
--       remark    the message about it in the thread, or ''
--       remark_mark
-- Returns 'assigned' | 'taken': the assignment has changed since the person saw it | 'closed'

local card, undrawn, due, audit = unpack(KEYS)
local id, place, seen, user, claim, mark, by, remark, remark_mark = unpack(ARGV)

local at = now()
if is_closed(card, at) then
  return 'closed'
end
if (redis.call('HGET', card, 'claim:' .. place) or '') ~= seen then
  return 'taken'
end
queue_look(due, id, at)
queue_drawing(undrawn, id, at)
write_audit(audit, by == '' and 'claimed' or 'handed_over', id, 'to', user, 'by', by)
if remark ~= '' then
  add_remark(card, remark, remark_mark)
end
local fields = {}
append_marked(fields, 'claim:' .. place, claim, mark)
redis.call('HSET', card, unpack(fields))
return 'assigned'
