-- Note that what a person sent is being handled, once for the same bytes.
--
-- KEYS  1 delivery  2 newest delivery of this person
-- ARGV  1 digest  2 owner  3 milliseconds to keep the note  4 milliseconds after which the first one has given up
-- Returns {'first'} | {'again', its answer} | {'busy'}: still being handled
-- | {'late'}: it failed, and the person has sent something else since, which it must not undo

local at = now()
local note = redis.call('GET', KEYS[1])
if note and string.sub(note, 1, 1) == '=' then
  return {'again', string.sub(note, 2)}
end
if not note then
  redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[3])
elseif at < string.match(note, '^%d+') + ARGV[4] then
  return {'busy'}
elseif redis.call('GET', KEYS[2]) ~= ARGV[1] then
  return {'late'}
end
redis.call('SET', KEYS[1], text(at) .. ' ' .. ARGV[2], 'PX', ARGV[3])
return {'first'}
