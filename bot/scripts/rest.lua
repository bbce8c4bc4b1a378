-- Put a record to rest once it has ended and its card says so: its keys go after a while, and nothing falls due for it but
-- the end of what was approved for later calls and of a claim on its run. Off the path of a click, which has enough to do.
--
-- KEYS  1 req  2 card  3 due  4 unresumed
-- ARGV  1 id  2 prefix
-- Returns 1 | 0: it has not ended

local status = redis.call('HGET', KEYS[2], 'status')
if not status or status == 'pending' then
  return 0
end
if redis.call('HEXISTS', KEYS[2], 'sticky_given') == 0 then
  local claimed, fence, resumed = unpack(redis.call('HMGET', KEYS[1], 'claim_until', 'fence', 'resumed'))
  if tonumber(claimed or 0) > 0 and not resumed and redis.call('HGET', KEYS[2], 'lapsed') ~= fence then
    redis.call('ZADD', KEYS[3], text(claimed + 1), ARGV[1])
  else
    redis.call('ZREM', KEYS[3], ARGV[1])
  end
end
-- One that is owed to a worker stays until it is taken; the others for whoever may still take the answer.
if not redis.call('ZSCORE', KEYS[4], ARGV[1]) then
  retire(KEYS[1], KEYS[2], ARGV[2], redis.call('HEXISTS', KEYS[1], 'resumed') == 1 and TAKEN or UNTAKEN)
end
return 1
