-- Note steps of a record's schedule whose time has come, and have its card drawn, because it shows times.
--
-- KEYS  card, undrawn, audit
-- ARGV  id, prefix
--       waiting   the circle of people, groups and channels that it waits for from now on as well
--       number of a step, its message in the thread or '' when the step is skipped, …
-- Returns how many were noted now. A step is noted once, and never after the record has ended

local card, undrawn, audit = unpack(KEYS)
local id, prefix, waiting = unpack(ARGV)
local FIRST_STEP = 4

local at = now()
if is_closed(card, at) then
  return 0
end
join_waiting(card, prefix, id, waiting, at)
local noted = 0
for i = FIRST_STEP, #ARGV, 2 do
  local step, remark = ARGV[i], ARGV[i + 1]
  if redis.call('HSETNX', card, 'reached:' .. step, remark ~= '' and text(at) or '-') == 1 then
    noted = noted + 1
    if remark ~= '' then
      add_remark(card, remark)
      write_audit(audit, 'reached', id, 'step', step)
    end
  end
end
queue_drawing(undrawn, id, at)
return noted
