-- Keep the answer to what a person sent, or note that it failed and may be handled again.
--
-- KEYS  1 delivery
-- ARGV  1 owner  2 milliseconds to keep the note  3 answer, or '' when it failed
-- Returns 'kept' | 'lost': somebody else handles it by now

local note = redis.call('GET', KEYS[1])
if not note or string.match(note, '^%d+ (.*)$') ~= ARGV[1] then
  return 'lost'
end
redis.call('SET', KEYS[1], ARGV[3] == '' and '0 ' or '=' .. ARGV[3], 'PX', ARGV[2])
return 'kept'
