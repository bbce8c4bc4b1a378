-- Write what an agent asked once more, if Redis has lost it: a bot that admitted it still knows it.
--
-- Its card is owed then: the note of its agent may be lost, too.
--
-- KEYS  req, inbox
-- ARGV  id, prefix
--       body
--       signature  of the agent, or ''
--       created
--       deadline   until when the agent waits
--       pauses     their digests, separated by spaces
--       traceparent, tracestate  where it was asked in a trace, or ''
-- Returns 'restored' | 'known'

local req, inbox = unpack(KEYS)
local id, prefix, body, signature, created, deadline, pauses, traceparent, tracestate = unpack(ARGV)

if redis.call('HEXISTS', req, 'body') == 1 then
  return 'known'
end
note_for_bots(inbox, 'published', id)
for digest in string.gmatch(pauses, '%S+') do
  redis.call('SET', prefix .. 'pause:' .. agent_of(id) .. '.' .. digest, id, 'NX')
end
if signature ~= '' then
  redis.call('HSET', req, 'signature', signature)
end
if traceparent ~= '' then
  redis.call('HSET', req, 'traceparent', traceparent, 'tracestate', tracestate)
end
redis.call('HSET', req, 'body', body, 'pauses', pauses, 'created', created, 'deadline', deadline)
wake_bots(prefix, id)
return 'restored'
