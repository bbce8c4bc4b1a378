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
--       of each action: index, '1' where nobody has decided it, else '0'
-- Returns 'told' | 'repeat' | 'unknown' | 'changed': one of those is decided, or this person has voted again

local req, card, undrawn, unresumed, audit = unpack(KEYS)
local id, prefix, token, at, by, remark, remark_mark, sentence, code, reason, mark = unpack(ARGV)
local FIRST_ACTION, PER_ACTION = 12, 2

local status = redis.call('HGET', card, 'status')
if not status then
  return 'unknown'
end
local told = 'lost:' .. token .. ':' .. at
if redis.call('HEXISTS', card, told) == 1 then
  return 'repeat'
end
for i = FIRST_ACTION, #ARGV, PER_ACTION do
  local decided, votes = unpack(redis.call('HMGET', card, 'd:' .. ARGV[i], 'votes:' .. ARGV[i]))
  local _, _, voted = string.find('\n' .. (votes or ''), '\n' .. by .. ' %S+ %S+ (%d+) ')
  if ARGV[i + 1] == '1' and (status ~= 'pending' or decided or tonumber(voted or 0) >= tonumber(at)) then
    return 'changed'
  end
end
for i = FIRST_ACTION, #ARGV, PER_ACTION do
  write_audit(audit, 'click_lost', id, 'index', ARGV[i], 'by', by)
end
if status == 'pending' then
  -- Somebody may have rejected it, so silence must not approve it.
  redis.call('HSETNX', card, 'missed', text(now()))
end
if remark ~= '' then
  add_remark(card, remark, remark_mark, 'notice', sentence)
end
if code ~= '' then
  refuse_rewound(req, card, undrawn, unresumed, audit, prefix, id, code, reason, mark)
elseif remark ~= '' then
  queue_drawing(undrawn, id, now())
  wake_processes(req, prefix, id, WAITS)
end
redis.call('HSET', card, told, by)
return 'told'
