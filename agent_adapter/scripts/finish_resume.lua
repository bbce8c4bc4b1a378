-- Say that the run went on with these decisions. Final.
--
-- KEYS  1 req  2 card  3 undrawn  4 wake  5 audit  6 unresumed  7 due
-- ARGV  1 id  2 owner of the claim  3 prefix
-- Returns 'finished' | 'repeat' | 'consumed': somebody else finished | 'lost': the claim is somebody else's | 'unknown'

if redis.call('EXISTS', KEYS[1]) == 0 then
  return 'unknown'
end
local by = redis.call('HGET', KEYS[1], 'resumed_by')
if by then
  return by == ARGV[2] and 'repeat' or 'consumed'
end
if redis.call('HGET', KEYS[1], 'claim_by') ~= ARGV[2] then
  return 'lost'
end
local at = now()
redis.call('HSET', KEYS[1], 'resumed', text(at), 'resumed_by', ARGV[2])
redis.call('ZREM', KEYS[6], ARGV[1])
-- Nobody need look for a claim that lapses. What was approved for later calls is looked at on time all the same.
if redis.call('HEXISTS', KEYS[2], 'sticky_given') == 0 then
  redis.call('ZREM', KEYS[7], ARGV[1])
end
-- Nobody goes on from there any more, and states hold what the agent has seen.
redis.call('DEL', ARGV[3] .. 'run:' .. ARGV[1])
retire(KEYS[1], KEYS[2], ARGV[3], TAKEN)
owe(KEYS[3], KEYS[4], ARGV[1], at)
audit(KEYS[5], at, 'resumed', ARGV[1])
return 'finished'
