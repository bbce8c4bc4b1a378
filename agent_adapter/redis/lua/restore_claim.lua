-- Write a claim on a run once more, if Redis has lost it: the process that holds it still knows it.
--
-- KEYS  req, inbox
-- ARGV  id
--       owner
--       lease  milliseconds
--       fence  of the claim
--       age    milliseconds since it was taken or renewed
-- Returns 'restored', also when it has lapsed, or when the decision is still to be written again | 'known'
-- | 'over': somebody has claimed the run since | 'unknown'

local req, inbox = unpack(KEYS)
local id, owner, lease, fence, age = unpack(ARGV)

local at, left = now(), lease - age
local body, resumed, holder, newest = unpack(redis.call('HMGET', req, 'body', 'resumed', 'claim_by', 'fence'))
if not body then
  return 'unknown'
elseif tonumber(newest or 0) >= tonumber(fence) then
  return holder == owner and 'known' or 'over'
elseif resumed then
  return 'over'
end
note_for_bots(inbox, 'claimed', id)
redis.call('HSET', req, 'claim_by', owner, 'claim_until', text(at + left), 'claim_for', lease, 'fence', fence)
return 'restored'
