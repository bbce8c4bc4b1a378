-- Say once that Redis has lost what somebody decided with a click: in the audit trail, and where it is still to be decided, in
-- the thread of the card and to the agents that wait. Where the agent may have gone on with it, the request ends.
--
-- KEYS  req, card, undrawn, unresumed, audit
-- ARGV  id, prefix
--       token     of the click
--       by        who decided
--       remark    the message about it in the thread, '' where others have decided meanwhile
--       remark_mark
--       sentence  for the agents that wait
--       code      of the end, or '' where people decide again
--       reason
--       mark      of it, or ''
--       of each action: index
-- Returns 'told' | 'repeat' | 'unknown'

local req, card, undrawn, unresumed, audit = unpack(KEYS)
local id, prefix, token, by, remark, remark_mark, sentence, code, reason, mark = unpack(ARGV)
local FIRST_ACTION = 11

local status = redis.call('HGET', card, 'status')
if not status then
  return 'unknown'
elseif redis.call('HSETNX', card, 'lost:' .. token, by) == 0 then
  return 'repeat'
end
for i = FIRST_ACTION, #ARGV do
  write_audit(audit, 'click_lost', id, 'index', ARGV[i], 'by', by)
end
if remark ~= '' and status == 'pending' then
  add_remark(card, remark, remark_mark, 'notice', sentence)
  if code ~= '' then
    refuse_rewound(req, card, undrawn, unresumed, audit, prefix, id, code, reason, mark)
  else
    queue_drawing(undrawn, id, now())
    wake_processes(req, prefix, id, WAITS)
  end
end
return 'told'
