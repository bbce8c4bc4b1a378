-- End a record without further decisions.
--
-- KEYS  1 req  2 card  3 undrawn  4 wake  5 due  6 audit  7 unresumed  8 watched
-- ARGV  1 id  2 'expired' | 'withdrawn' | 'refused'  3 reason  4 code  5 prefix
--       6 since when bots have to have been there for silence to approve
--       7.. index, decision, decision where people could not answer all that time ('' for none), …: what the deadline decides,
--         where it has just passed and nobody proposes something else
-- Returns 'settled' | 'early': the deadline is not reached | the status it already ended with | 'unknown'

if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('ZREM', KEYS[5], ARGV[1])
  return 'unknown'
end
local at = now()
local status, deadline, policy = unpack(redis.call('HMGET', KEYS[2], 'status', 'deadline', 'policy'))
policy = policy or ''
if status and status ~= 'pending' then
  return status
end
if ARGV[2] == 'expired' and at < tonumber(deadline or redis.call('HGET', KEYS[1], 'deadline')) then
  return 'early'
end
local changes = { 'status', ARGV[2], 'reason', ARGV[3], 'code', ARGV[4], 'settled', text(at) }
owe(KEYS[3], KEYS[4], ARGV[1], at)
-- An agent whose deadline and grace passed without a bot may have gone on already: it is owed nothing then.
owe_run(KEYS[7], KEYS[1], ARGV[5], ARGV[1], at)
-- Silence means something only while people could have spoken, for as long as they were given, and to an agent that has
-- not gone on by itself.
local heard = at - tonumber(deadline or 0) < 30000 and redis.call('HEXISTS', KEYS[1], 'fence') == 0
if heard and not may_have_stepped(ARGV[5], tonumber(redis.call('HGET', KEYS[1], 'created')), at) then
  local since, last = unpack(redis.call('HMGET', KEYS[8], 'since', 'heard'))
  local watched = since and tonumber(since) <= tonumber(ARGV[6]) and at - tonumber(last) <= UNSEEN
    and redis.call('HEXISTS', KEYS[2], 'missed') == 0
  for i = 7, #ARGV, 3 do
    local decision = ARGV[watched and i + 1 or i + 2]
    local decided, proposed = unpack(redis.call('HMGET', KEYS[2], 'd:' .. ARGV[i], 'proposal:' .. ARGV[i]))
    if decision ~= '' and not decided and not proposed then
      append(changes, 'd:' .. ARGV[i], decision, 't:' .. ARGV[i], 'expired', 'at:' .. ARGV[i], text(at))
      audit(KEYS[6], at, 'decided', ARGV[1], 'index', ARGV[i], 'by', 'expired', 'policy', policy)
    end
  end
end
audit(KEYS[6], at, ARGV[2], ARGV[1], 'code', ARGV[4], 'policy', policy)
redis.call('HSET', KEYS[2], unpack(changes))
notify(KEYS[1], ARGV[5], ARGV[1], 'w:')
return 'settled'
