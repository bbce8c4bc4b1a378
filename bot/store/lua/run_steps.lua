-- Note steps of a record's schedule whose time has come, and have its card drawn, because it shows times.
--
-- KEYS  card, undrawn, audit
-- ARGV  id, prefix
--       waiting   the circle of people, groups and channels that it waits for from now on as well
--       for each step: its number, when it was reached ('-' when it is skipped), mark, its message in the thread or '', mark
-- Returns how many were noted now. A step is noted once, and never after the record has ended

local card, undrawn, audit = unpack(KEYS)
local id, prefix, waiting = unpack(ARGV)
local FIRST_STEP, PER_STEP = 4, 5

local at = now()
if is_closed(card, at) then
  return 0
end
join_waiting(card, prefix, id, waiting, at)
local noted = 0
for i = FIRST_STEP, #ARGV, PER_STEP do
  local step, reached, mark, remark, remark_mark = unpack(ARGV, i, i + PER_STEP - 1)
  if redis.call('HEXISTS', card, 'reached:' .. step) == 0 then
    noted = noted + 1
    local fields = {}
    append_marked(fields, 'reached:' .. step, reached, mark)
    redis.call('HSET', card, unpack(fields))
    if remark ~= '' then
      add_remark(card, remark, remark_mark)
      write_audit(audit, 'reached', id, 'step', step)
    end
  end
end
queue_drawing(undrawn, id, at)
return noted
