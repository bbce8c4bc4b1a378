-- Record one person's decision on some actions. First one wins, until the deadline. Where it takes several people, a
-- decision is a vote, one for each person, until enough of them say the same.
--
-- KEYS  req, card, undrawn, due, unresumed, standing, audit
--       delivery  of the click, where this script is to note it
--       newest    delivery of this person
-- ARGV  id, prefix
--       token     of the click
--       person
--       grant     for which later calls the decision holds, or ''
--       lifetime  for how many milliseconds
--       uses      for how many calls
--       owner     of the delivery, or ''
--       answer    of the delivery once something is recorded
--       pressed   channel and ts of the message that was pressed, '' for a form
--       signed    statement about the decisions, or ''
--       asked     digest of the question
--       losses    how often the record said, when the click was judged, that a decision is lost
--       of each action: index, position, decision, tokens of the votes that were judged and count ('*': all), people whose
--       votes do not count any more, or are not signed: they are taken out, version of the rules that judged ('': the
--       card's), what the audit says about it, the message that asks, and what the first call has returned when it is
--       called again: outcome, when, and when this person had voted before, all '' for the first call
-- Returns {'first', whether the agent may go on with what this click has recorded: 'last' when nothing is open any more, 'taken'
-- when it takes each decision, else '', of each action: outcome, when it was written in the server's milliseconds, when this
-- person had voted before or 0, the click under whose name it stands, …}, or why the click is not handled here, as
-- `begin_delivery` does
-- An outcome is 'recorded' | 'counted': it takes more people | 'repeat': decided by this very click | 'voted': this person
-- said the same before | 'taken' | 'closed'
-- | 'gone': it agrees with a proposal that is not there any more | 'deleted': the message that was pressed is gone
-- | 'judge_again': it would be final with the vote of somebody who was not judged, or people are told by now that a decision
-- is lost
-- When it is called again also 'early': it was final with votes that are not written again yet | 'replaced': this person
-- has voted since, or the vote was taken out | 'over': others have decided without this vote

local req, card, undrawn, due, unresumed, standing, audit, delivery, newest = unpack(KEYS)
local id, prefix, token, person, grant, lifetime, uses, owner, answer, pressed, signed, asked, losses = unpack(ARGV)
local FIRST_ACTION, PER_ACTION = 14, 11

-- Of each action when it is called again: when it was called first.
local called, at, is_repeated = now(), nil, false
local refusal = delivery and why_not_handled(delivery, newest, owner, called)
if refusal then
  return refusal
end
local status, deadline, policy, still_open, deleted, waiting, question, told = unpack(redis.call('HMGET', card,
  'status', 'deadline', 'policy', 'open', 'gone', 'waiting', 'asked', 'losses'))
-- Nothing could be resumed with a decision about a record that has lost what was asked.
local is_whole = redis.call('HEXISTS', req, 'body') == 1 and redis.call('HEXISTS', req, 'deadline') == 1
local is_pending = is_whole and status == 'pending'
-- Whoever judged the click may remember the record as it was before the message was deleted.
local is_deleted = pressed ~= '' and string.find('\n' .. (deleted or ''), '\n' .. pressed .. '\n', 1, true)
local outcomes, recorded, counted, is_known = { 'first', '' }, 0, 0, false
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
-- `kept`, those of whoever may not decide any more are `gone`, and `mine` is the same vote by this person, who `voted` then.
-- Where something `was_final`, only the votes that were judged with it agree.
local function sort_votes(votes, position, decision, allowed, refused, was_final)
  local kept, same, tokens, gone, mine, voted, its_click, all_judged, out_until = {}, {}, {}, {}, nil, 0, nil, true, at
  for line in string.gmatch(votes or '', '[^\n]+') do
    local voter, its, of_click, when, said = string.match(line, '^(%S+) (%S+) (%S+) (%d+) (.*)$')
    when = tonumber(when)
    -- A call that is made again takes out nothing that came after the first one.
    local is_refused = has(refused, voter) and not (is_repeated and when > at)
    if voter == person then
      voted, its_click = when, of_click
      mine = its == position and said == decision and not is_refused and line or nil
    elseif its == position and is_refused then
      gone[#gone + 1] = voter
      out_until = math.max(out_until, when)
    else
      kept[#kept + 1] = line
      local is_judged = allowed == '*' or has(allowed, of_click)
      if its == position and (is_judged or not was_final) then
        same[#same + 1] = voter
        tokens[#tokens + 1] = of_click
        all_judged = all_judged and is_judged
      end
    end
  end
  same[#same + 1] = person
  tokens[#tokens + 1] = token
  return { kept = kept, same = same, tokens = tokens, gone = gone, mine = mine, voted = voted, its_click = its_click,
    all_judged = all_judged, out_until = out_until }
end

-- Give when this is said: later than this person's vote before it, and than a vote of theirs that was taken out, also when the
-- clock was set back.
local function said_at(index, votes)
  return math.max(at, votes.voted + 1, taken_out_at(card, index, person) + 1)
end

local function make_final(index, decision, votes, of_rules, facts, message)
  local by, when = table.concat(votes.same, ' '), said_at(index, votes)
  append(changes, 'd:' .. index, decision, 't:' .. index, table.concat(votes.tokens, ' '), 'at:' .. index, text(when))
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
  return when
end

-- Keep a vote, and return the outcome, when it was given, and by which click if it was there. The same one again changes
-- nothing, but where others are taken out beside it.
local function count(index, position, decision, votes, of_rules, facts, message)
  if is_repeated and at > votes.voted then
    -- Between the two, this person may have voted otherwise.
    votes.mine = nil
  end
  if votes.mine and #votes.gone == 0 then
    return 'voted', votes.voted, votes.its_click
  end
  local kept, when = votes.kept, said_at(index, votes)
  kept[#kept + 1] = votes.mine or table.concat({ person, position, token, text(when), decision }, ' ')
  append(changes, 'votes:' .. index, table.concat(kept, '\n'))
  counted = counted + 1
  if votes.mine then
    return 'voted', votes.voted, votes.its_click
  end
  note('counted', index, person, 'policy', of_rules, 'position', position, decision_facts(card, facts, message, at))
  return 'counted', when
end

-- Say whether the vote of this very click is there.
local function has_vote(votes)
  for line in string.gmatch(votes or '', '[^\n]+') do
    local voter, _, of_click = string.match(line, '^(%S+) (%S+) (%S+) ')
    if voter == person and of_click == token then
      return true
    end
  end
  return false
end

-- Return the outcome, when it was written, when this person had voted before, and the click that gave a vote that is there.
local function decide(index, position, decision, allowed, refused, of_rules, facts, message, was, _, over)
  local was_final = was == 'recorded' or was == 'repeat'
  local kind = position == 'reject' and 'reject_quorum' or 'quorum'
  local decided_by, decided_at, said, own, of_all = unpack(redis.call('HMGET', card,
    't:' .. index, 'at:' .. index, 'votes:' .. index, kind .. ':' .. index, kind))
  if decided_by then
    if has(decided_by, token) then
      is_known = true
      return 'repeat', tonumber(decided_at)
    end
    return is_repeated and not was_final and 'over' or 'taken'
  elseif is_deleted then
    return 'deleted'
  elseif not is_pending or at >= tonumber(deadline) and not was_final or is_repeated and asked ~= '' and question ~= asked then
    -- What ended keeps its votes.
    return is_repeated and not was_final and has_vote(said) and 'voted' or 'closed'
  elseif is_repeated and not was_final and taken_out_at(card, index, person) >= at then
    return 'replaced'
  elseif is_repeated and redis.call('HEXISTS', card, 'lost:' .. token .. ':' .. text(at)) == 1 then
    -- Its person was told that it is lost, and has been asked again.
    return 'replaced'
  elseif not is_repeated and losses ~= (told or '0') then
    return 'judge_again'
  end
  local needed = needed_for(index, position, own or of_all or 1)
  if not needed then
    return 'gone'
  end
  local votes = sort_votes(said, position, decision, allowed, refused, was_final)
  -- Who had no vote when this one was given has voted since. What was final counts against a later vote.
  if is_repeated and not was_final and not votes.mine and votes.voted > tonumber(over) then
    return 'replaced'
  end
  local is_final = #votes.same >= needed
  if is_repeated then
    -- Only the click that made it final was judged together with all the others.
    is_final = is_final and was_final
  elseif is_final and not votes.all_judged then
    return 'judge_again'
  end
  of_rules = of_rules ~= '' and of_rules or policy or ''
  for _, voter in ipairs(votes.gone) do
    note('uncounted', index, voter, 'policy', of_rules, 'position', position)
  end
  if is_final then
    return 'recorded', make_final(index, decision, votes, of_rules, facts, message), votes.voted
  elseif was_final and votes.voted > 0 and not votes.mine then
    return 'early'
  end
  local outcome, when, its_click = count(index, position, decision, votes, of_rules, facts, message)
  if refused ~= '' then
    -- Also who has no vote here: it may be written again later.
    append(changes, TAKEN_OUT .. index, with_taken_out(card, index, refused, votes.out_until))
  end
  return was_final and 'early' or outcome, when, votes.voted, its_click
end

for i = FIRST_ACTION, #ARGV, PER_ACTION do
  local first = ARGV[i + PER_ACTION - 2]
  at, is_repeated = tonumber(first) or called, first ~= ''
  local outcome, when, voted, its_click = decide(unpack(ARGV, i, i + PER_ACTION - 1))
  append(outcomes, outcome, text(when or at), text(voted or 0), its_click or token)
end

local left = (still_open or 0) - recorded
if recorded > 0 or is_known then
  outcomes[2] = left == 0 and 'last' or #processes_of(req, id, FOLLOWS) > 0 and 'taken' or ''
end
if recorded + counted == 0 then
  if delivery then
    note_delivery(delivery, newest, text(called), owner)
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
if delivery then
  note_delivery(delivery, newest, ANSWERED, owner, answer)
end
-- Last, since the server writes first to whom it woke last: the answer is on its way before whoever draws is woken.
if recorded > 0 then
  wake_processes(req, prefix, id, left == 0 and WAITS or FOLLOWS)
end
if left == 0 then
  drop_waiting(prefix, id, waiting)
end
return outcomes
