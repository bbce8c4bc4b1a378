-- Note that it is unknown what the card of a queue shows, so that it is drawn again.
--
-- KEYS  queue
-- ARGV  ts  of the card; another card of the queue is left alone

local queue = unpack(KEYS)
local ts = unpack(ARGV)

if redis.call('HGET', queue, 'ts') == ts then
  redis.call('HSET', queue, 'shown', '?', 'drawn', '0')
end
