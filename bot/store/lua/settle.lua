-- End a record without further decisions.
--
-- KEYS  req, card, undrawn, due, unresumed, watched, audit
-- ARGV  id, prefix
--       ending  'expired' | 'withdrawn' | 'refused'
--       reason
--       mark    of it, or ''
--       code
--       grace   milliseconds after a deadline in which an agent still waits for the answer
--       since   from when on a bot must have been running for silence to approve
--       for each action that the deadline decides: index, the message that asks, decision if people could answer all that
--       time, what the audit says about it, statement, the same three if they could not ('' for none)
-- Returns 'settled' | 'early': the deadline is not reached | the status it already ended with | 'unknown'

local req, card, undrawn, due, unresumed, watched, audit = unpack(KEYS)
local id, prefix, ending, reason, mark, code, grace, since = unpack(ARGV)
local FIRST_SILENT, PER_SILENT = 9, 8

if redis.call('EXISTS', req) == 0 then
  redis.call('ZREM', due, id)
  return 'unknown'
end
local at = now()
local status, deadline, policy, waiting = unpack(redis.call('HMGET', card, 'status', 'deadline', 'policy', 'waiting'))
policy = policy or ''
if status and status ~= 'pending' then
  return status
end
if ending == 'expired' and at < tonumber(deadline or redis.call('HGET', req, 'deadline')) then
  return 'early'
end
local changes = { 'status', ending, 'code', code, 'settled', text(at) }
append_marked(changes, 'reason', reason, mark)
queue_drawing(undrawn, id, at)
-- An agent whose deadline and grace passed without a bot may have continued without the answer.
queue_run(unresumed, req, prefix, id, at)

-- Milliseconds after a change of the server: it may lack what somebody has rejected.
local CHANGED_LATELY = 30000

-- Whether people could answer: a bot was running all the time, no attempt to answer failed, and no answer can have been lost.
local function could_answer()
  local watched_since, heard = unpack(redis.call('HMGET', watched, 'since', 'heard'))
  return watched_since and tonumber(watched_since) <= tonumber(since) and at - tonumber(heard) <= LONGEST_SILENCE
    and redis.call('HEXISTS', card, 'missed') == 0 and at - answers_since(prefix, at) >= CHANGED_LATELY
end

-- Silence decides only when people could answer for all of their time, and when the agent still waits for the answer.
local BY_TIME, signed = 'expired', nil
local function how_it_ends()
  if at - tonumber(deadline or 0) >= tonumber(grace) or redis.call('HEXISTS', req, 'fence') == 1
    or clock_may_be_set(prefix, tonumber(redis.call('HGET', req, 'created')), at) then
    return 'silent'
  end
  return could_answer() and 'answerable' or 'unanswerable'
end

local how = #ARGV >= FIRST_SILENT and how_it_ends() or 'silent'
if how ~= 'silent' then
  for i = FIRST_SILENT, #ARGV, PER_SILENT do
    local index, message = unpack(ARGV, i, i + 1)
    local decision, facts, statement = unpack(ARGV, how == 'answerable' and i + 2 or i + 5, i + PER_SILENT - 1)
    local decided, proposed = unpack(redis.call('HMGET', card, 'd:' .. index, 'proposal:' .. index))
    if decision ~= '' and not decided and not proposed then
      append(changes, 'd:' .. index, decision, 't:' .. index, BY_TIME, 'at:' .. index, text(at))
      signed = statement ~= '' and add_line(signed, statement) or signed
      local up = redis.call('HGET', card, 'up:' .. message)
      write_audit(audit, 'decided', id, 'index', index, 'by', 'expired', 'policy', policy, 'facts', facts,
        unpack(up and { 'waited', text(at - up) } or {}))
    end
  end
end
if signed then
  append(changes, SIGNED .. BY_TIME, signed)
end
write_audit(audit, ending, id, 'code', code, 'policy', policy)
touch(card, at, ending)
redis.call('HSET', card, unpack(changes))
wake_processes(req, prefix, id, WAITS)
drop_waiting(prefix, id, waiting)
return 'settled'
