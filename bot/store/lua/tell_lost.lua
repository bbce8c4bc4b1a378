-- Say once that Redis has lost what somebody decided with a click: in the audit trail, and where it is still to be decided, in
-- the thread of the card and to the agents that wait.
--
-- KEYS  req, card, undrawn, audit
-- ARGV  id, prefix
--       token     of the click
--       by        who decided
--       remark    the message about it in the thread, '' where others have decided meanwhile
--       remark_mark
--       sentence  for the agents that wait
--       of each action: index
-- Returns 'told' | 'repeat' | 'unknown'

local req, card, undrawn, audit = unpack(KEYS)
local id, prefix, token, by, remark, remark_mark, sentence = unpack(ARGV)
local FIRST_ACTION = 8

if redis.call('HEXISTS', card, 'status') == 0 then
  return 'unknown'
elseif redis.call('HSETNX', card, 'lost:' .. token, by) == 0 then
  return 'repeat'
end
for i = FIRST_ACTION, #ARGV do
  write_audit(audit, 'click_lost', id, 'index', ARGV[i], 'by', by)
end
if remark ~= '' then
  queue_drawing(undrawn, id, now())
  add_remark(card, remark, remark_mark, 'notice', sentence)
  wake_processes(req, prefix, id, WAITS)
end
return 'told'
