-- Record one person's decision on some actions. First one wins, until the deadline. Where it takes several people, a
-- decision is a vote, one for each person, until enough of them say the same.
--
-- KEYS  req, card, undrawn, due, unresumed, standing, audit
-- ARGV  id, prefix
--       token     of the click
--       person
--       grant     for which later calls the decision holds, or ''
--       lifetime  for how many milliseconds
--       uses      for how many calls
--       press     what tells one press from another, or ''
--       pressed   channel and ts of the message that was pressed, '' for a form
--       signed    statement about the decisions, or ''
--       of each action: index, position, decision, tokens of the votes that were judged and count, people whose
--       votes do not count any more, or are not signed: they are taken out, version of the rules that judged, what the
--       audit says about it, the message that asks
-- Returns the outcome of each action:
-- 'recorded' | 'counted': it takes more people | 'repeat': recorded or counted before, by this very press or by one that
-- says the same, whatever its person has decided since | 'taken' | 'closed'
-- | 'gone': it agrees with a proposal that is not there any more | 'deleted': the message that was pressed is gone
-- | 'judge_again': it would be final with the vote of somebody who was not judged

local req, card, undrawn, due, unresumed, standing, audit = unpack(KEYS)
local id, prefix, token, person, grant, lifetime, uses, press, pressed, signed = unpack(ARGV)
local FIRST_ACTION, PER_ACTION, PRESS = 11, 8, 'press:'

local at = now()
-- The actions for which this very press is recorded.
local pressed_for = press ~= '' and redis.call('HGET', card, PRESS .. press) or ''
local status, deadline, policy, still_open, deleted, waiting = unpack(redis.call('HMGET', card,
  'status', 'deadline', 'policy', 'open', 'gone', 'waiting'))
-- Nothing could be resumed with a decision about a record that has lost what was asked.
local is_whole = redis.call('HEXISTS', req, 'body') == 1 and redis.call('HEXISTS', req, 'deadline') == 1
local is_pending = is_whole and status == 'pending'
-- The bot that judged the click may remember the record as it was before the message was deleted.
local is_deleted = pressed ~= '' and string.find('\n' .. (deleted or ''), '\n' .. pressed .. '\n', 1, true)
local outcomes, recorded, counted = {}, 0, 0
-- What is written in the end.
local changes, events, given, deciders, noted = {}, {}, {}, {}, {}

local function note(event, index, ...)
  events[#events + 1] = { event, id, 'index', index, 'by', ... }
end

local function give_standing(index)
  local till = text(at + lifetime)
  append(given, till, id .. ':' .. index)
  append(changes, 'sticky_grant:' .. index, grant, 'sticky_until:' .. index, till,
    'sticky_left:' .. index, uses, 'sticky_given', '1')
  note('sticky_given', index, person, 'policy', policy or '')
end

local function has(names, name)
  return string.find(' ' .. names .. ' ', ' ' .. name .. ' ', 1, true) ~= nil
end

-- Give how many people have to agree, or nil for a proposal that is not there any more.
local function needed_for(index, position, of_action)
  local meant = string.match(position, '^proposal:(%S+)$')
  if not meant then
    return tonumber(of_action)
  end
  local name, of_proposal = string.match(redis.call('HGET', card, 'proposal:' .. index) or '', '^(%S+) (%d+) ')
  return name == meant and tonumber(of_proposal) or nil
end

-- Sort the votes on an action: `same` people agree with this decision, by the clicks in `tokens`; the votes of others are
-- `kept`, those of people who may not decide any more are `gone`, and `mine` is the same vote by this person.
local function sort_votes(votes, position, decision, allowed, refused)
  local kept, same, tokens, gone, mine, all_judged = {}, {}, {}, {}, nil, true
  for line in string.gmatch(votes or '', '[^\n]+') do
    local voter, its, of_click, _, said = string.match(line, '^(%S+) (%S+) (%S+) (%d+) (.*)$')
    local is_refused = has(refused, voter)
    if voter == person then
      mine = its == position and said == decision and not is_refused and line or nil
    elseif its == position and is_refused then
      append(gone, voter)
    else
      append(kept, line)
      if its == position then
        append(same, voter)
        append(tokens, of_click)
        all_judged = all_judged and has(allowed, of_click)
      end
    end
  end
  append(same, person)
  append(tokens, token)
  return { kept = kept, same = same, tokens = tokens, gone = gone, mine = mine, all_judged = all_judged }
end

local function make_final(index, decision, votes, of_rules, facts, message)
  local by = table.concat(votes.same, ' ')
  append(changes, 'd:' .. index, decision, 't:' .. index, table.concat(votes.tokens, ' '), 'at:' .. index, text(at))
  if #votes.same > 1 then
    append(changes, 'by:' .. index, by)
  end
  note('decided', index, by, 'policy', of_rules, decision_facts(card, facts, message, at))
  if grant ~= '' then
    give_standing(index)
  end
  for _, voter in ipairs(votes.same) do
    if not noted[voter] then
      noted[voter] = true
      append(deciders, voter)
    end
  end
  recorded = recorded + 1
end

-- Keep a vote. The same one again changes nothing, but where others are taken out beside it.
local function count(index, position, decision, votes, of_rules, facts, message)
  if votes.mine and #votes.gone == 0 then
    return 'repeat'
  end
  append(votes.kept, votes.mine or table.concat({ person, position, token, text(at), decision }, ' '))
  append(changes, 'votes:' .. index, table.concat(votes.kept, '\n'))
  counted = counted + 1
  if votes.mine then
    return 'repeat'
  end
  note('counted', index, person, 'policy', of_rules, 'position', position, decision_facts(card, facts, message, at))
  return 'counted'
end

local function decide(index, position, decision, allowed, refused, of_rules, facts, message)
  local kind = position == 'reject' and 'reject_quorum' or 'quorum'
  local decided_by, said, own, of_all = unpack(redis.call('HMGET', card,
    't:' .. index, 'votes:' .. index, kind .. ':' .. index, kind))
  if decided_by then
    return has(decided_by, token) and 'repeat' or 'taken'
  elseif is_deleted then
    return 'deleted'
  elseif not is_pending or at >= tonumber(deadline) then
    return 'closed'
  end
  local needed = needed_for(index, position, own or of_all or 1)
  if not needed then
    return 'gone'
  end
  local votes = sort_votes(said, position, decision, allowed, refused)
  local is_final = #votes.same >= needed
  if is_final and not votes.all_judged then
    return 'judge_again'
  end
  for _, voter in ipairs(votes.gone) do
    note('uncounted', index, voter, 'policy', of_rules, 'position', position)
  end
  if is_final then
    make_final(index, decision, votes, of_rules, facts, message)
    return 'recorded'
  end
  return count(index, position, decision, votes, of_rules, facts, message)
end

local is_new = false
for i = FIRST_ACTION, #ARGV, PER_ACTION do
  local index = ARGV[i]
  local outcome = has(pressed_for, index) and 'repeat' or decide(unpack(ARGV, i, i + PER_ACTION - 1))
  -- Also where it changed nothing: its person may decide otherwise before it is delivered again.
  if outcome == 'recorded' or outcome == 'counted' or (outcome == 'repeat' and not has(pressed_for, index)) then
    pressed_for, is_new = pressed_for .. ' ' .. index, true
  end
  append(outcomes, outcome)
end

local left = (still_open or 0) - recorded
if press ~= '' and is_new then
  append(changes, PRESS .. press, pressed_for)
end
if recorded + counted == 0 then
  if #changes > 0 then
    redis.call('HSET', card, unpack(changes))
  end
  return outcomes
end
if signed ~= '' then
  append(changes, SIGNED .. token, add_line(redis.call('HGET', card, SIGNED .. token), signed))
end
append(changes, 'open', text(left))
queue_drawing(undrawn, id, at)
if #given > 0 then
  redis.call('ZADD', standing, unpack(given))
  queue_look(due, id, at)
end
if left == 0 then
  append(changes, 'status', 'decided', 'settled', text(at))
  queue_run(unresumed, req, prefix, id, at)
end
for _, event in ipairs(events) do
  write_audit(audit, unpack(event))
end
for _, decider in ipairs(deciders) do
  note_mine(prefix, 'decided:', decider, id, at)
end
redis.call('HSET', card, unpack(changes))
-- Last, because the server writes first to the client that it woke last. So the answer leaves before a bot is woken to draw.
if recorded > 0 then
  wake_processes(req, prefix, id, left == 0 and WAITS or FOLLOWS)
end
if left == 0 then
  drop_waiting(prefix, id, waiting)
end
return outcomes
