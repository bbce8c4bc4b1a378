-- Keep what became of an approved call, so that its card says so. The first outcome is kept.
--
-- KEYS  req, inbox
-- ARGV  id, prefix
--       index    of the action
--       decided  its decision as the caller read it, which approves a call; a decision is final
--       fence    of the claim as the caller read it, or '' if the caller needs none
--       status   done or failed
--       outcome
-- Returns {'reported' | 'repeat', the stored outcome with its time before it} | {'lost'}: the claim is somebody else's
-- | {'unknown'} | {'changed'}: the decision is not the one that the caller read

local req, inbox = unpack(KEYS)
local id, prefix, index, decided, fence, status, outcome = unpack(ARGV)
local field = OUTCOME .. index

-- The record may expire at any time. Writing to it then would make a key that never ends.
if redis.call('HEXISTS', req, 'body') == 0 then
  return { 'unknown' }
end
local known, holder = unpack(redis.call('HMGET', req, field, 'fence'))
if fence ~= '' and fence ~= holder then
  return { 'lost' }
end
if known then
  return { 'repeat', known }
end
if redis.call('HGET', prefix .. 'card:' .. id, 'd:' .. index) ~= decided then
  return { 'changed' }
end
local kept = text(now()) .. ' ' .. outcome
note_for_bots(inbox, 'reported', id, 'index', index, 'outcome', status)
redis.call('HSET', req, field, kept)
wake_bots(prefix, id)
return { 'reported', kept }
