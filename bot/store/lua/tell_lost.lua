-- Say on a card, to its agents and in the audit trail that Redis has lost a decision which somebody had been told counts.
--
-- KEYS  req, card, undrawn, audit
-- ARGV  id, prefix
--       by        who decided
--       index     of the action
--       remark    the message about it in the thread
--       remark_mark
--       sentence  for the agents that wait
-- Returns 'told' | 'unknown'

local req, card, undrawn, audit = unpack(KEYS)
local id, prefix, by, index, remark, remark_mark, sentence = unpack(ARGV)

if redis.call('HEXISTS', card, 'status') == 0 then
  return 'unknown'
end
queue_drawing(undrawn, id, now())
write_audit(audit, 'click_lost', id, 'index', index, 'by', by)
add_remark(card, remark, remark_mark, 'notice', sentence)
wake_processes(req, prefix, id, WAITS)
return 'told'
