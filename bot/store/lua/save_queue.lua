-- Note what the card of a queue shows, and end its lease. A queue that is over is forgotten.
--
-- KEYS  queues, queue, queued
-- ARGV  channel
--       owner  of the lease
--       ts     of the card, '' when nothing was sent, '-' when somebody deleted it, '+' when a new one takes its place
--       shown  the digest of what it shows
--       is_posted  1 when it was posted now
--       called     whom it mentions then
--       mark       the seal of where the card is
--       asked  when a request last joined a queue that is over, '' while it is not over
-- Returns 'saved' | 'lost': another process has the lease

local queues, queue, queued = unpack(KEYS)
local channel, owner, ts, shown, is_posted, called, mark, asked = unpack(ARGV)

if string.match(redis.call('HGET', queue, 'lease') or '', '^%S+') ~= owner then
  return 'lost'
end
if asked ~= '' and redis.call('HGET', queue, 'asked') == asked then
  redis.call('DEL', queue, queued)
  redis.call('SREM', queues, channel)
  return 'saved'
end
redis.call('HDEL', queue, 'lease')
if ts == '-' or ts == '+' then
  redis.call('HDEL', queue, 'ts', 'mark', 'shown', 'drawn', 'posted', 'called')
  if ts == '-' then
    redis.call('HINCRBY', queue, 'gone', 1)
  end
elseif ts ~= '' then
  redis.call('HSET', queue, 'ts', ts, 'mark', mark, 'shown', shown, 'drawn', text(now()))
  if is_posted == '1' then
    redis.call('HSET', queue, 'posted', text(now()), 'called', called)
  end
end
return 'saved'
