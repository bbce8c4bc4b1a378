-- Ask the bot to withdraw a record that is still open.
--
-- KEYS  req, card, due, audit
-- ARGV  id, reason
-- Returns 'asked' | 'unknown' | the status it already ended with

local req, card, due, audit = unpack(KEYS)
local id, reason = unpack(ARGV)

if redis.call('EXISTS', req) == 0 then
  return 'unknown'
end
local status = redis.call('HGET', card, 'status')
if status and status ~= 'pending' then
  return status
end
if redis.call('HEXISTS', req, 'withdraw') == 0 then
  local at = now()
  redis.call('ZADD', due, text(at), id)
  write_audit(audit, 'withdraw_asked', id)
  redis.call('HSET', req, 'withdraw', reason)
end
return 'asked'
