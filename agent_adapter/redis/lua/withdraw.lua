-- Ask the bot to withdraw a record that is still open.
--
-- KEYS  req, inbox
-- ARGV  id, prefix
--       reason
-- Returns 'asked' | 'unknown' | the status it already ended with

local req, inbox = unpack(KEYS)
local id, prefix, reason = unpack(ARGV)

if redis.call('EXISTS', req) == 0 then
  return 'unknown'
end
local status = redis.call('HGET', prefix .. 'card:' .. id, 'status')
if status and status ~= 'pending' then
  return status
end
if redis.call('HEXISTS', req, 'withdraw') == 0 then
  note_for_bots(inbox, 'withdraw_asked', id)
  redis.call('HSET', req, 'withdraw', reason)
  wake_bots(prefix, id)
end
return 'asked'
