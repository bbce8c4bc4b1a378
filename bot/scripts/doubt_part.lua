-- Forget what one message shows, and have it drawn again: somebody drew over it, or it is not there any more.
--
-- KEYS  1 card  2 undrawn  3 wake
-- ARGV  1 id  2 part  3 ts of the message, or '' for whichever it is now

local shown = redis.call('HGET', KEYS[1], 'part:' .. ARGV[2])
if shown and (ARGV[3] == '' or string.match(shown, '^%S+ (%S+)') == ARGV[3]) then
  redis.call('HSET', KEYS[1], 'part:' .. ARGV[2], (string.gsub(shown, '%S+$', '?')))
  owe(KEYS[2], KEYS[3], ARGV[1], now())
end
