-- Say to the agents that wait for a record why nothing happens with it, or remove that notice.
--
-- KEYS  req, card
-- ARGV  id, prefix
--       sentence  '' to remove the notice

local req, card = unpack(KEYS)
local id, prefix, sentence = unpack(ARGV)

local known = redis.call('HGET', card, 'notice')
if redis.call('EXISTS', req) == 0 or (known or '') == sentence then
  return
end
if sentence == '' then
  redis.call('HDEL', card, 'notice')
else
  redis.call('HSET', card, 'notice', sentence)
end
wake_processes(req, prefix, id, WAITS)
