-- Forget what one message shows: somebody's late call may have drawn over it.
--
-- KEYS  1 card
-- ARGV  1 part

local shown = redis.call('HGET', KEYS[1], 'part:' .. ARGV[1])
if shown then
  redis.call('HSET', KEYS[1], 'part:' .. ARGV[1], (string.gsub(shown, '%S+$', '?')))
end
