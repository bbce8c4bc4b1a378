-- Keep an edit that another rule decides about. It replaces an earlier one, and the votes on that. The original call
-- stays open as well.
--
-- KEYS  card, undrawn, audit
-- ARGV  id, prefix
--       index
--       person
--       name      of the proposal
--       policy    version of the rules
--       proposal  as its field keeps it
--       mark      of it, or ''
--       place     the other place where it is asked, or ''
--       place_mark
--       remark    the message about it in the thread
--       remark_mark
--       facts     what the audit says about it
--       message   that asks
--       waiting   the circle of people, groups and channels that it waits for
-- Returns 'recorded' | 'repeat': it is there already | 'taken': the action is decided | 'closed'

local card, undrawn, audit = unpack(KEYS)
local id, prefix, index, person, name, policy, proposal, mark, place, place_mark, remark, remark_mark, facts, message,
  waiting = unpack(ARGV)
local PROPOSAL = 'proposal:'

local at = now()
local decided, known, votes = unpack(redis.call('HMGET', card, 'd:' .. index, PROPOSAL .. index, 'votes:' .. index))
if decided then
  return 'taken'
elseif is_closed(card, at) then
  return 'closed'
elseif string.match(known or '', '^%S*') == name then
  return 'repeat'
end

-- The person who proposes loses an earlier vote, and everybody loses a vote on the proposal before it.
local left = {}
for line in string.gmatch(votes or '', '[^\n]+') do
  local voter, position = string.match(line, '^(%S+) (%S+) ')
  if voter ~= person and string.sub(position, 1, #PROPOSAL) ~= PROPOSAL then
    left[#left + 1] = line
  end
end
queue_drawing(undrawn, id, at)
join_waiting(card, prefix, id, waiting, at)
write_audit(audit, 'proposed', id, 'index', index, 'by', person, 'policy', policy, 'proposal', name,
  decision_facts(card, facts, message, at))
if #left > 0 then
  redis.call('HSET', card, 'votes:' .. index, table.concat(left, '\n'))
else
  redis.call('HDEL', card, 'votes:' .. index)
end
local fields = {}
if place ~= '' then
  local number, found = 0, redis.call('HGET', card, 'place:0')
  while found and found ~= place do
    number = number + 1
    found = redis.call('HGET', card, 'place:' .. number)
  end
  if not found then
    append_marked(fields, 'place:' .. number, place, place_mark)
  end
end
append_marked(fields, PROPOSAL .. index, proposal, mark)
add_remark(card, remark, remark_mark, unpack(fields))
return 'recorded'
