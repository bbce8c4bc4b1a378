-- Release a run that was set aside, so that a worker resumes it at once.
--
-- KEYS  run, unresumed
-- ARGV  id, prefix
--       seen  which of its failures was seen, or '' for any
-- Returns 'will go on' | 'is not set aside' | 'has failed again since' | 'unknown': there is nothing to resume

local run, unresumed = unpack(KEYS)
local id, prefix, seen = unpack(ARGV)
local req = prefix .. 'req:' .. id

if redis.call('EXISTS', req) == 0 or redis.call('HEXISTS', req, 'resumed') == 1 then
  return 'unknown'
end
if redis.call('HEXISTS', run, 'set_aside') == 0 then
  return 'is not set aside'
end
local failure = tonumber(redis.call('HGET', run, 'again') or 0) + 1
if seen ~= '' and seen ~= text(failure) then
  return 'has failed again since'
end
redis.call('HSET', run, 'again', text(failure))
redis.call('HDEL', run, 'set_aside')
redis.call('ZADD', unresumed, 'XX', text(now()), id)
return 'will go on'
