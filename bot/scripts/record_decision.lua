-- Record one person's decision on some actions. First one wins, until the deadline. Where it takes several people, a
-- decision is a vote, one for each person, until enough of them say the same.
--
-- KEYS  1 req  2 card  3 undrawn  4 wake  5 due  6 audit  7 unresumed  8 sticky
-- ARGV  1 id  2 token of the click  3 person  4 prefix
--       5 for which later calls the decision holds, or ''  6 for how many milliseconds  7 for how many calls
--       8.. of each action: index, position, decision, others who were judged and may decide ('*': everybody), others who
--         were judged and may not any more: their votes are taken out, version of the rules that judged ('': the card's)
-- Returns one outcome per action: 'recorded' | 'counted': it takes more people | 'repeat': by this very click | 'taken'
-- | 'closed' | 'gone': it agrees with a proposal that is not there any more | 'judge_again': it would be final with the
-- vote of somebody who was not judged

local at = now()
local status, deadline, policy, still_open = unpack(redis.call('HMGET', KEYS[2],
  'status', 'deadline', 'policy', 'open'))
-- Nothing could be resumed with a decision about a record that has lost what was asked.
local is_whole = redis.call('HEXISTS', KEYS[1], 'body') == 1 and redis.call('HEXISTS', KEYS[1], 'deadline') == 1
local open = is_whole and status == 'pending' and at < tonumber(deadline)
local outcomes, recorded, counted = {}, 0, 0
-- What is written in the end.
local changes, events, sticky = {}, {}, {}

local function note(event, index, ...)
  events[#events + 1] = { event, ARGV[1], 'index', index, 'by', ... }
end

local function hold_for_later(index)
  local till = text(at + ARGV[6])
  append(sticky, till, ARGV[1] .. ':' .. index)
  append(changes, 'sticky_grant:' .. index, ARGV[5], 'sticky_until:' .. index, till,
    'sticky_left:' .. index, ARGV[7], 'sticky_given', '1')
  note('sticky_given', index, ARGV[3], 'policy', policy or '')
end

local function has(names, name)
  return string.find(' ' .. names .. ' ', ' ' .. name .. ' ', 1, true) ~= nil
end

local function decide(index, position, decision, allowed, refused, of_rules)
  local needed = position == 'reject' and 'reject_quorum' or 'quorum'
  local token, votes, own, of_all = unpack(redis.call('HMGET', KEYS[2],
    't:' .. index, 'votes:' .. index, needed .. ':' .. index, needed))
  if token then
    return has(token, ARGV[2]) and 'repeat' or 'taken'
  elseif not open then
    return 'closed'
  end
  of_rules = of_rules ~= '' and of_rules or policy or ''
  local meant = string.match(position, '^proposal:(%S+)$')
  if meant then
    local name
    name, own = string.match(redis.call('HGET', KEYS[2], 'proposal:' .. index) or '', '^(%S+) (%d+) ')
    if name ~= meant then
      return 'gone'
    end
  end
  local others, people, tokens, mine, gone, unjudged = {}, {}, {}, nil, {}, false
  for line in string.gmatch(votes or '', '[^\n]+') do
    local person, its, of_click, said = string.match(line, '^(%S+) (%S+) (%S+) %d+ (.*)$')
    if person == ARGV[3] then
      mine = its == position and said == decision and line or nil
    elseif its == position and has(refused, person) then
      gone[#gone + 1] = person
    else
      others[#others + 1] = line
      if its == position then
        people[#people + 1] = person
        tokens[#tokens + 1] = of_click
        unjudged = unjudged or not (allowed == '*' or has(allowed, person))
      end
    end
  end
  people[#people + 1] = ARGV[3]
  tokens[#tokens + 1] = ARGV[2]
  local is_final = #people >= tonumber(own or of_all or 1)
  if is_final and unjudged then
    return 'judge_again'
  end
  for _, person in ipairs(gone) do
    note('uncounted', index, person, 'policy', of_rules, 'position', position)
  end
  if is_final then
    local by = table.concat(people, ' ')
    append(changes, 'd:' .. index, decision, 't:' .. index, table.concat(tokens, ' '), 'at:' .. index, text(at))
    if #people > 1 then
      append(changes, 'by:' .. index, by)
    end
    note('decided', index, by, 'policy', of_rules)
    if ARGV[5] ~= '' then
      hold_for_later(index)
    end
    recorded = recorded + 1
    return 'recorded'
  elseif mine and #gone == 0 then
    return 'repeat'
  end
  others[#others + 1] = mine or table.concat({ARGV[3], position, ARGV[2], text(at), decision}, ' ')
  append(changes, 'votes:' .. index, table.concat(others, '\n'))
  counted = counted + 1
  if mine then
    return 'repeat'
  end
  note('counted', index, ARGV[3], 'policy', of_rules, 'position', position)
  return 'counted'
end

for i = 8, #ARGV, 6 do
  outcomes[#outcomes + 1] = decide(unpack(ARGV, i, i + 5))
end

if recorded + counted == 0 then
  return outcomes
end
local left = still_open - recorded
append(changes, 'open', text(left))
owe(KEYS[3], KEYS[4], ARGV[1], at)
if #sticky > 0 then
  redis.call('ZADD', KEYS[8], unpack(sticky))
  redis.call('ZADD', KEYS[5], 'LT', text(at), ARGV[1])
end
if left == 0 then
  append(changes, 'status', 'decided', 'settled', text(at))
  owe_run(KEYS[7], KEYS[1], ARGV[4], ARGV[1], at)
end
for _, event in ipairs(events) do
  audit(KEYS[6], at, unpack(event))
end
redis.call('HSET', KEYS[2], unpack(changes))
-- Last, since the server writes first to whom it woke last: the answer is on its way before whoever draws is woken.
if recorded > 0 then
  notify(KEYS[1], ARGV[4], ARGV[1], left == 0 and 'w:' or 'f:')
end
return outcomes
