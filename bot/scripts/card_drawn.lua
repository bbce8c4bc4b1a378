-- Note what Slack shows of one message, and let it go. Without a picture: nothing was sent.
--
-- KEYS  1 card
-- ARGV  1 part  2 owner of the lease  3 what is shown, '' when nothing was sent, '-' when it is gone
-- Returns 'drawn' | 'lost': the lease went to somebody else

local held = redis.call('HGET', KEYS[1], 'lease:' .. ARGV[1]) or ''
if string.match(held, '^%S+') ~= ARGV[2] then
  return 'lost'
end
redis.call('HDEL', KEYS[1], 'lease:' .. ARGV[1])
if ARGV[3] == '-' then
  redis.call('HDEL', KEYS[1], 'part:' .. ARGV[1])
elseif ARGV[3] ~= '' then
  redis.call('HSET', KEYS[1], 'part:' .. ARGV[1], ARGV[3])
end
return 'drawn'
