-- Note why a run could not be resumed with its answer, or with which error it ended, so that its card says so. When
-- another owner resumes it, the card no longer says so.
--
-- KEYS  req, inbox
-- ARGV  id, prefix
--       owner  of the claim
--       reason
-- Returns 1 | 0: known already, or there is nothing to resume

local req, inbox = unpack(KEYS)
local id, prefix, owner, reason = unpack(ARGV)

if redis.call('EXISTS', req) == 0 or redis.call('HEXISTS', req, 'resumed') == 1 then
  return 0
end
local is_new = redis.call('HGET', req, 'stalled') ~= reason
if is_new then
  note_for_bots(inbox, 'stalled', id)
end
redis.call('HSET', req, 'stalled', reason, 'stalled_by', owner)
if is_new then
  wake_bots(prefix, id)
end
return is_new and 1 or 0
