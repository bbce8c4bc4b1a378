-- Store an interrupt once, or find the record that already asks about its pauses.
--
-- KEYS  req, run, inbox
--       pause of each pause, …
-- ARGV  id, prefix
--       body
--       signature     of the agent, or ''
--       lifetime      milliseconds to the deadline
--       age           milliseconds since it was first asked: a failover can have lost it, and not its card
--       process       which waits, or ''
--       traceparent   where it is asked in a trace, or ''
--       tracestate    or ''
--       pauses        their digests, separated by spaces
--       replaced      id of the ended record that is asked again, or ''
--       continuation  or ''
--       needs         what a worker needs to resume the run
--       head_start    milliseconds before a worker may start, for a process that waits
-- Returns {'created', id} | {'known', id} | {'mixed', id}: some pauses belong to that record, others do not

local req, run, inbox = unpack(KEYS)
local id, prefix, body, signature, lifetime, age, process, traceparent, tracestate,
  pauses, replaced, continuation, needs, head_start = unpack(ARGV)
local FIRST_PAUSE = 4

local found, is_missing
for i = FIRST_PAUSE, #KEYS do
  local record = redis.call('GET', KEYS[i])
  if not record or record == replaced or redis.call('EXISTS', prefix .. 'req:' .. record) == 0 then
    is_missing = true
  elseif found and found ~= record then
    return { 'mixed', found }
  else
    found = record
  end
end
if found then
  return { is_missing and 'mixed' or 'known', found }
end
if redis.call('EXISTS', req) == 1 then
  return { 'known', id }
end

local at = now()
note_for_bots(inbox, 'published', id)
for i = FIRST_PAUSE, #KEYS do
  redis.call('SET', KEYS[i], id)
end
if continuation ~= '' then
  store_continuation(req, run, continuation, needs, head_start)
end
if process ~= '' then
  redis.call('HSET', req, WAITS .. process, '1')
end
if signature ~= '' then
  redis.call('HSET', req, 'signature', signature)
end
if traceparent ~= '' then
  redis.call('HSET', req, 'traceparent', traceparent, 'tracestate', tracestate)
end
redis.call('HSET', req, 'body', body, 'pauses', pauses, 'created', text(at - age), 'deadline', text(at + lifetime))
wake_bots(prefix, id)
return { 'created', id }
