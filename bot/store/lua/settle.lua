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
--       left    how many actions were open when this was judged, or ''
--       known   the servers that the caller knows, where silence may approve, or ''
--       was     how it ended when it was called first, '' for the first call
--       age     milliseconds since it was called first
--       for each action that the deadline decides: index, the message that asks, decision if people could answer all that
--       time, what the audit says about it, statement, the same three if they could not ('' for none)
-- Returns {'settled', how: 'answerable' | 'unanswerable' | 'silent', where silence decides nothing} | {'early'}: the deadline is
-- not reached | {'behind'}: more is open than when this was judged, so decisions from before it are still to be written again
-- | {'moved'}: another server answers than when this was judged | {the status it already ended with, and how if it is this
-- one} | {'unknown'}

local req, card, undrawn, due, unresumed, watched, audit = unpack(KEYS)
local id, prefix, ending, reason, mark, code, grace, since, left, known, was, age = unpack(ARGV)
local FIRST_SILENT, PER_SILENT = 13, 8

if redis.call('EXISTS', req) == 0 then
  redis.call('ZREM', due, id)
  return { 'unknown' }
end
local at = now() - age
local status, deadline, policy, waiting, open, ended_how = unpack(redis.call('HMGET', card,
  'status', 'deadline', 'policy', 'waiting', 'open', 'how'))
policy = policy or ''
if status and status ~= 'pending' then
  return { status, status == ending and ended_how or nil }
end
if unknown_server(known) then
  return { 'moved' }
end
-- Another server's clock can be behind that of the server on which it ended.
if was == '' and ending == 'expired' and at < tonumber(deadline or redis.call('HGET', req, 'deadline')) then
  return { 'early' }
end
if left ~= '' and open and tonumber(open) > tonumber(left) then
  return { 'behind' }
end
local changes = { 'status', ending, 'code', code, 'settled', text(at) }
append_marked(changes, 'reason', reason, mark)
queue_drawing(undrawn, id, at)
-- An agent whose deadline and grace passed without a bot may have continued without the answer.
queue_run(unresumed, req, prefix, id, at)

-- Whether a bot was running all the time, and nobody tried to answer and failed.
local function could_answer()
  local watched_since, heard = unpack(redis.call('HMGET', watched, 'since', 'heard'))
  return watched_since and tonumber(watched_since) <= tonumber(since) and at - tonumber(heard) <= LONGEST_SILENCE
    and redis.call('HEXISTS', card, 'missed') == 0
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

-- What it was judged by can be lost, so it ends as it ended before.
local how = was ~= '' and was or how_it_ends()
if how ~= 'silent' then
  for i = FIRST_SILENT, #ARGV, PER_SILENT do
    local index, message = unpack(ARGV, i, i + 1)
    local decision, facts, statement = unpack(ARGV, how == 'answerable' and i + 2 or i + 5, i + PER_SILENT - 1)
    local decided, proposed = unpack(redis.call('HMGET', card, 'd:' .. index, 'proposal:' .. index))
    if decision ~= '' and not decided and not proposed then
      append(changes, 'd:' .. index, decision, 't:' .. index, BY_TIME, 'at:' .. index, text(at))
      signed = statement ~= '' and add_line(signed, statement) or signed
      write_audit(audit, 'decided', id, 'index', index, 'by', 'expired', 'policy', policy,
        decision_facts(card, facts, message, at))
    end
  end
end
if signed then
  append(changes, SIGNED .. BY_TIME, signed)
end
append(changes, 'how', how)
write_audit(audit, ending, id, 'code', code, 'policy', policy)
redis.call('HSET', card, unpack(changes))
wake_processes(req, prefix, id, WAITS)
drop_waiting(prefix, id, waiting)
return { 'settled', how }
