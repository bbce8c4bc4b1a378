-- Fix the terms that judge every click, before the first drawing. Decide the actions that a standing approval answers.
--
-- KEYS  req, card, undrawn, due, unresumed, standing, audit
-- ARGV  id, prefix
--       created      when it was asked, and
--       asked_until  until when the agent waits, as the bot has judged them
--       deadline     that counts
--       actions      how many
--       is_due       1 when steps or an extension come before the deadline, else 0
--       facts        what the audit says about the question
--       waiting      the circle of people, groups and channels that it waits for
--       requester    the person who asked for it, or ''
--       covered      how many actions a standing approval may answer
--       for each of them: index, id of the record that has the standing approval, index of the action there, who gave
--       it, decision, what is kept of this use, what the audit says about the decision, statement
--       fields of the admission and their values, …
-- Returns the record as it is then, as `read` does. Without `status`, somebody has changed its times since it was judged: it is
-- looked at again

local req, card, undrawn, due, unresumed, standing, audit = unpack(KEYS)
local id, prefix, created, asked_until, deadline, actions, is_due, facts, waiting, requester, covered = unpack(ARGV)
local FIRST_COVERED, PER_COVERED = 12, 8
local FIRST_FIELD = FIRST_COVERED + PER_COVERED * covered

local at = now()
local created_now, until_now = unpack(redis.call('HMGET', req, 'created', 'deadline'))
if not created_now or redis.call('HEXISTS', card, 'status') == 1 then
  return read_record(req, card, at)
end
if created_now ~= created or until_now ~= asked_until then
  queue_drawing(undrawn, id, at)
  return read_record(req, card, at)
end
deadline = tonumber(deadline)
local changes = { 'deadline', text(deadline), unpack(ARGV, FIRST_FIELD) }
local policy
for i = FIRST_FIELD, #ARGV, 2 do
  policy = ARGV[i] == 'policy' and ARGV[i + 1] or policy
end

-- Whether a standing approval is active for one more of these actions.
local is_withdrawn = redis.call('HEXISTS', req, 'withdraw') == 1
local spent = {}
local function holds(given_in, index)
  local till, left, ended = unpack(try('HMGET', prefix .. 'card:' .. given_in,
    'sticky_until:' .. index, 'sticky_left:' .. index, 'sticky_ended:' .. index) or {})
  local name = given_in .. ':' .. index
  if not till or ended or at >= tonumber(till) or at >= deadline or is_withdrawn or tonumber(left) == spent[name] then
    return false
  end
  spent[name] = (spent[name] or 0) + 1
  return true
end

local function use(given_in, index, kept)
  local its_card = prefix .. 'card:' .. given_in
  local uses, left = unpack(redis.call('HMGET', its_card, 'sticky_uses:' .. index, 'sticky_left:' .. index))
  local used = { 'sticky_uses:' .. index, (uses and uses .. '\n' or '') .. text(at) .. ' ' .. kept,
    'sticky_left:' .. index, text(left - 1) }
  queue_drawing(undrawn, given_in, at)
  write_audit(audit, 'sticky_used', given_in, 'index', index, 'for', id)
  if tonumber(left) == 1 then
    redis.call('ZREM', standing, given_in .. ':' .. index)
    write_audit(audit, 'sticky_ended', given_in, 'index', index, 'by', 'uses')
    append(used, 'sticky_ended:' .. index, text(at) .. ' uses')
  end
  touch(its_card, at, id)
  redis.call('HSET', its_card, unpack(used))
end

local BY_STANDING, found, signed = 'sticky', {}, nil
for i = FIRST_COVERED, FIRST_FIELD - 1, PER_COVERED do
  local index, given_in, given_at, _, decision, _, _, statement = unpack(ARGV, i, i + PER_COVERED - 1)
  if holds(given_in, given_at) then
    append(found, i)
    append(changes, 'd:' .. index, decision, 't:' .. index, BY_STANDING, 'at:' .. index, text(at))
    signed = statement ~= '' and add_line(signed, statement) or signed
  end
end
if signed then
  append(changes, SIGNED .. BY_STANDING, signed)
end
local open = actions - #found
append(changes, 'status', open == 0 and 'decided' or 'pending')
if open == 0 then
  append(changes, 'settled', text(at))
  queue_run(unresumed, req, prefix, id, at)
else
  -- The bot finds out what comes first. LT keeps an earlier time: a withdrawal may be due already.
  redis.call('ZADD', due, 'LT', text(is_due == '1' and at or deadline), id)
  add_waiting(prefix, id, waiting, deadline, at)
  append(changes, 'waiting', waiting)
end
if requester ~= '' then
  note_mine(prefix, 'asked:', requester, id, at)
end
write_audit(audit, 'admitted', id, 'policy', policy, 'facts', facts)
for _, i in ipairs(found) do
  local index, given_in, given_at, by, _, kept, its_facts = unpack(ARGV, i, i + PER_COVERED - 1)
  use(given_in, given_at, kept)
  write_audit(audit, 'decided', id, 'index', index, 'by', by, 'policy', policy, 'sticky', given_in .. ':' .. given_at,
    'facts', its_facts)
end
touch(card, at, id)
redis.call('HSET', card, unpack(changes))
if open == 0 then
  wake_processes(req, prefix, id, WAITS)
elseif #found > 0 then
  wake_processes(req, prefix, id, FOLLOWS)
end
return read_record(req, card, at)
