-- Count a request among those that were asked in a channel, once. If too many were asked shortly before it, it joins the
-- channel's queue.
--
-- KEYS  asked, queues, queue, queued
-- ARGV  id
--       channel
--       most    how many requests have a card of their own
--       within  milliseconds in which so many may be asked
--       name    of the queue, if there is none yet
-- Returns 1 when it joins the queue, else 0

local asked, queues, queue, queued = unpack(KEYS)
local id, channel, most, within, name = unpack(ARGV)

local at = now()
-- Those of one millisecond would be sorted by their ids, and a later one could come before an earlier one.
local score = at
while redis.call('ZCOUNT', asked, text(score), text(score)) > 0 do
  score = score + 1
end
redis.call('ZADD', asked, 'NX', text(score), id)
local since = redis.call('ZSCORE', asked, id) - within
redis.call('PEXPIRE', asked, 2 * within)
local before = redis.call('ZRANK', asked, id) - redis.call('ZCOUNT', asked, '-inf', text(since))
redis.call('ZREMRANGEBYSCORE', asked, '-inf', text(at - 2 * within))
if before < tonumber(most) then
  return 0
end
redis.call('HSETNX', queue, 'name', name)
redis.call('HSET', queue, 'asked', text(at))
redis.call('SADD', queued, id)
redis.call('SADD', queues, channel)
return 1
