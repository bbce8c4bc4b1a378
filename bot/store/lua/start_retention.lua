-- Let the keys of a record expire, once it has ended and its card says so. Only the end of a standing approval, of a claim
-- on its run, or of the time in which its agent has to go on, still falls due. This is a script of its own, so that a click
-- has less to do.
--
-- KEYS  req, card, due, unresumed
-- ARGV  id, prefix
--       after  milliseconds from its end until the card says that the agent does not go on, or '' if it has nothing to run
-- Returns 1 | 0: it has not ended

local req, card, due, unresumed = unpack(KEYS)
local id, prefix, after = unpack(ARGV)

local status = redis.call('HGET', card, 'status')
if not status or status == 'pending' then
  return 0
end
local claimed, fence, resumed = unpack(redis.call('HMGET', req, 'claim_until', 'fence', 'resumed'))
local settled, untaken = unpack(redis.call('HMGET', card, 'settled', 'untaken'))
if redis.call('HEXISTS', card, 'sticky_given') == 0 then
  if claimed and tonumber(claimed) > 0 and not resumed and redis.call('HGET', card, 'lapsed') ~= fence then
    redis.call('ZADD', due, text(claimed + 1), id)
  elseif after ~= '' and settled and not resumed and not untaken then
    redis.call('ZADD', due, text(settled + after), id)
  else
    redis.call('ZREM', due, id)
  end
end
-- A record that is owed to a worker stays until the worker takes it.
if not redis.call('ZSCORE', unresumed, id) then
  expire_record(id, prefix, resumed and KEPT_RESUMED or KEPT_UNRESUMED)
end
return 1
