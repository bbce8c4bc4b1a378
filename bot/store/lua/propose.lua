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
--       asked     digest of the question
--       first     when it was called first, in the server's milliseconds, '' for the first call
-- Returns {'recorded', the server's milliseconds} | {'repeat', and when if it is of this person}: it is there already
-- | {'taken'}: the action is decided | {'closed'}. When it is called again also {'over'}: the action is decided
-- | {'replaced'}: a later one is there

local card, undrawn, audit = unpack(KEYS)
local id, prefix, index, person, name, policy, proposal, mark, place, place_mark, remark, remark_mark, facts, message,
  waiting, asked, first = unpack(ARGV)
local PROPOSAL, PROPOSED = 'proposal:', 'proposed:'

local is_repeated = first ~= ''
local decided, known, proposed, votes, question = unpack(redis.call('HMGET', card,
  'd:' .. index, PROPOSAL .. index, PROPOSED .. index, 'votes:' .. index, 'asked'))
known, proposed = string.match(known or '', '^%S*'), tonumber(proposed or 0)
-- Later than the one before it, also when the clock was set back.
local at = tonumber(first) or math.max(now(), proposed + 1)
if decided then
  return { is_repeated and 'over' or 'taken' }
elseif is_repeated and known == name then
  return { 'repeat' }
elseif is_closed(card, at) or is_repeated and asked ~= '' and question ~= asked then
  return { 'closed' }
elseif known == name then
  -- Others can propose the same.
  local is_theirs = proposed > 0 and taken_out_at(card, index, person) >= proposed
  return { 'repeat', is_theirs and text(proposed) or nil }
elseif is_repeated and known ~= '' and proposed >= at then
  -- With the same time, a bot of an earlier version has replaced this one: it notes no time.
  return { 'replaced' }
end

-- Whoever proposes something has no vote from before any more, also none that is written again after a failover.
local left, taken_out, out_until = {}, person, at
for line in string.gmatch(votes or '', '[^\n]+') do
  local voter, position, when = string.match(line, '^(%S+) (%S+) %S+ (%d+) ')
  if is_repeated and tonumber(when) > at or voter ~= person and string.sub(position, 1, #PROPOSAL) ~= PROPOSAL then
    left[#left + 1] = line
  else
    out_until = math.max(out_until, when)
    taken_out = voter == person and taken_out or taken_out .. ' ' .. voter
  end
end
queue_drawing(undrawn, id, at)
join_waiting(card, prefix, id, waiting, at)
write_audit(audit, 'proposed', id, 'index', index, 'by', person, 'policy', policy, 'proposal', name,
  decision_facts(card, facts, message, at))
set_votes(card, index, left)
local fields = { TAKEN_OUT .. index, with_taken_out(card, index, taken_out, out_until), PROPOSED .. index, text(at) }
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
return { 'recorded', text(at) }
