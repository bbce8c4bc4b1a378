-- Let a run that was set aside go on, at once.
--
-- KEYS  1 req  2 run  3 unresumed
-- ARGV  1 id  2 which of its failures was seen, or '' for whichever it is
-- Returns 'will go on' | 'is not set aside' | 'has failed again since' | 'unknown': there is nothing to go on with

if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], 'resumed') == 1 then
  return 'unknown'
end
if redis.call('HEXISTS', KEYS[2], 'set_aside') == 0 then
  return 'is not set aside'
end
local failure = tonumber(redis.call('HGET', KEYS[2], 'again') or 0) + 1
if ARGV[2] ~= '' and ARGV[2] ~= text(failure) then
  return 'has failed again since'
end
redis.call('HSET', KEYS[2], 'again', text(failure))
redis.call('HDEL', KEYS[2], 'set_aside')
redis.call('ZADD', KEYS[3], 'XX', text(now()), ARGV[1])
return 'will go on'
