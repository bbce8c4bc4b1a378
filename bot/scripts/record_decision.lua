-- Record one person's decision on some actions. First one wins, until the deadline.
--
-- KEYS  1 req  2 card  3 undrawn  4 wake  5 due  6 audit  7 unresumed
-- ARGV  1 id  2 token of the click  3 person  4 prefix  5.. index, decision, index, decision, …
-- Returns one outcome per action: 'recorded' | 'repeat': by this very click | 'taken' | 'closed'

local at = now()
local status, deadline, policy = unpack(redis.call('HMGET', KEYS[2], 'status', 'deadline', 'policy'))
local open = status == 'pending' and at < tonumber(deadline)
local outcomes, recorded = {}, 0
for i = 5, #ARGV, 2 do
  local index = ARGV[i]
  local token = redis.call('HGET', KEYS[2], 't:' .. index)
  local outcome = 'recorded'
  if token then
    outcome = token == ARGV[2] and 'repeat' or 'taken'
  elseif not open then
    outcome = 'closed'
  else
    redis.call('HSET', KEYS[2], 'd:' .. index, ARGV[i + 1], 't:' .. index, ARGV[2], 'at:' .. index, text(at))
    audit(KEYS[6], at, 'decided', ARGV[1], 'index', index, 'by', ARGV[3], 'policy', policy or '')
    recorded = recorded + 1
  end
  outcomes[#outcomes + 1] = outcome
end

if recorded > 0 then
  local who = 'f:'
  if redis.call('HINCRBY', KEYS[2], 'open', -recorded) == 0 then
    redis.call('HSET', KEYS[2], 'status', 'decided', 'settled', text(at))
    redis.call('ZREM', KEYS[5], ARGV[1])
    keep_for_taker(KEYS[7], KEYS[1], KEYS[2], ARGV[4], ARGV[1], at)
    who = 'w:'
  end
  notify(KEYS[1], ARGV[4], ARGV[1], who)
  owe(KEYS[3], KEYS[4], ARGV[1], at)
end
return outcomes
