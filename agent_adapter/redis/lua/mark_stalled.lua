-- Note why a run could not be resumed with its answer, or with which error it ended, so that its card says so. When
-- another owner resumes it, the card no longer says so.
--
-- KEYS  req, undrawn, wake
-- ARGV  id
--       owner  of the claim
--       reason
-- Returns 1 | 0: known already, or there is nothing to resume

local req, undrawn, wake = unpack(KEYS)
local id, owner, reason = unpack(ARGV)

if redis.call('EXISTS', req) == 0 or redis.call('HEXISTS', req, 'resumed') == 1 then
  return 0
end
local is_new = redis.call('HGET', req, 'stalled') ~= reason
if is_new then
  queue_drawing(undrawn, wake, id, now())
end
redis.call('HSET', req, 'stalled', reason, 'stalled_by', owner)
return is_new and 1 or 0
