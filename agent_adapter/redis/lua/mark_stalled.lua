-- Note why a run could not be resumed with its answer, so that its card says so. A later resume overrides it.
--
-- KEYS  req, undrawn, wake
-- ARGV  id, reason
-- Returns 1 | 0: known already, or there is nothing to resume

local req, undrawn, wake = unpack(KEYS)
local id, reason = unpack(ARGV)

if redis.call('EXISTS', req) == 0 or redis.call('HEXISTS', req, 'resumed') == 1
  or redis.call('HGET', req, 'stalled') == reason then
  return 0
end
redis.call('HSET', req, 'stalled', reason)
queue_drawing(undrawn, wake, id, now())
return 1
