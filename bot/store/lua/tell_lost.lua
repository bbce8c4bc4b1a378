-- Say once that Redis has lost what somebody decided with a click: in the audit trail, and where it is still to be decided, in
-- the thread of the card and to the agents that wait. Where the agent may have gone on with it, the request ends.
--
-- KEYS  req, card, undrawn, unresumed, audit
-- ARGV  id, prefix
--       token     of the click
--       at        when it was stored
--       by        who decided
--       remark    the message about it in the thread, or ''
--       remark_mark
--       sentence  for the agents that wait
--       code      of the end, or '' where people decide again
--       reason
--       mark      of it, or ''
--       of each action: index, where nobody has decided it what was lost: 'decision' | 'vote', else '', what was decided, and
--                 what the audit says about it, or ''
-- Returns 'told' | 'repeat' | 'unknown' | 'changed': one of those is decided, or this person has voted again

local req, card, undrawn, unresumed, audit = unpack(KEYS)
local id, prefix, token, at, by, remark, remark_mark, sentence, code, reason, mark = unpack(ARGV)
local FIRST_ACTION, PER_ACTION = 12, 4

local status, policy = unpack(redis.call('HMGET', card, 'status', 'policy'))
if not status then
  return 'unknown'
end
local told = 'lost:' .. token .. ':' .. at
if redis.call('HEXISTS', card, told) == 1 then
  return 'repeat'
end
-- What is lost replaced an earlier vote of the same person. That one counts no longer, also if it is written again.
local replaced = {}
local function drop_earlier_vote(index, votes)
  local left = {}
  for line in string.gmatch(votes, '[^\n]+') do
    local voter, position, of_click, when = string.match(line, '^(%S+) (%S+) (%S+) (%d+) ')
    -- What was final and was written again before the votes of others counts as a vote of this very click.
    local is_this = of_click == token and tonumber(when) == tonumber(at)
    if voter ~= by then
      left[#left + 1] = line
    elseif tonumber(when) >= tonumber(at) and not is_this then
      return false
    else
      replaced[#replaced + 1] = { index = index, position = position, left = left }
    end
  end
  return true
end

for i = FIRST_ACTION, #ARGV, PER_ACTION do
  local index, lost = ARGV[i], ARGV[i + 1]
  local decided, votes = unpack(redis.call('HMGET', card, 'd:' .. index, 'votes:' .. index))
  if lost ~= '' and (status ~= 'pending' or decided) then
    return 'changed'
  end
  -- Also a decision that one person made replaced their vote: who rejected in the end must not count as agreeing.
  if lost ~= '' and not drop_earlier_vote(index, votes or '') and lost == 'vote' then
    return 'changed'
  end
end

-- Another program can have overwritten a shared key. Then the script fails here, before it has written any message.
queue_drawing(undrawn, id, now())
redis.call('ZSCORE', unresumed, id)
for i = FIRST_ACTION, #ARGV, PER_ACTION do
  local facts = ARGV[i + 3]
  write_audit(audit, 'click_lost', id, 'index', ARGV[i], 'by', by, 'decision', ARGV[i + 2],
    unpack(facts ~= '' and { 'facts', facts } or {}))
  if ARGV[i + 1] ~= '' then
    -- Also who has no vote here: it may be written again later.
    redis.call('HSET', card, TAKEN_OUT .. ARGV[i], with_taken_out(card, ARGV[i], by, tonumber(at)))
  end
end
for _, vote in ipairs(replaced) do
  write_audit(audit, 'uncounted', id, 'index', vote.index, 'by', by, 'policy', policy or '', 'position', vote.position)
  set_votes(card, vote.index, vote.left)
end
if status == 'pending' then
  -- Somebody may have rejected it, so silence must not approve it.
  redis.call('HSETNX', card, 'missed', text(now()))
end
if remark ~= '' then
  -- A click that a bot judges by an older copy of the record is judged again: by now, people are asked about these calls.
  redis.call('HINCRBY', card, 'losses', 1)
  add_remark(card, remark, remark_mark, 'notice', sentence)
end
redis.call('HSET', card, told, by)
if code ~= '' then
  refuse_rewound(req, card, undrawn, unresumed, audit, prefix, id, code, reason, mark)
elseif remark ~= '' then
  wake_processes(req, prefix, id, WAITS)
end
return 'told'
