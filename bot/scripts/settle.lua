-- End a record without further decisions.
--
-- KEYS  1 req  2 card  3 undrawn  4 wake  5 due  6 audit  7 unresumed
-- ARGV  1 id  2 'expired' | 'withdrawn' | 'refused'  3 reason  4 code  5 prefix
--       6.. index, decision, …: what the deadline approves, where it has just passed
-- Returns 'settled' | 'early': the deadline is not reached | the status it already ended with | 'unknown'

if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('ZREM', KEYS[5], ARGV[1])
  return 'unknown'
end
local at = now()
local status, deadline = unpack(redis.call('HMGET', KEYS[2], 'status', 'deadline'))
if status and status ~= 'pending' then
  return status
end
if ARGV[2] == 'expired' and at < tonumber(deadline or redis.call('HGET', KEYS[1], 'deadline')) then
  return 'early'
end
-- Silence means something only while people could have spoken, and to an agent that has not gone on by itself.
if at - tonumber(deadline or 0) < 30000 and redis.call('HEXISTS', KEYS[1], 'fence') == 0 then
  for i = 6, #ARGV, 2 do
    if redis.call('HEXISTS', KEYS[2], 'd:' .. ARGV[i]) == 0 then
      redis.call('HSET', KEYS[2], 'd:' .. ARGV[i], ARGV[i + 1], 't:' .. ARGV[i], 'expired', 'at:' .. ARGV[i], text(at))
      audit(KEYS[6], at, 'decided', ARGV[1], 'index', ARGV[i], 'by', 'expired', 'policy', redis.call('HGET', KEYS[2], 'policy') or '')
    end
  end
end
redis.call('HSET', KEYS[2], 'status', ARGV[2], 'reason', ARGV[3], 'code', ARGV[4], 'settled', text(at))
-- An agent whose deadline and grace passed without a bot may have gone on already: it is owed nothing then.
owe_run(KEYS[7], KEYS[1], ARGV[5], ARGV[1], at)
notify(KEYS[1], ARGV[5], ARGV[1], 'w:')
owe(KEYS[3], KEYS[4], ARGV[1], at)
audit(KEYS[6], at, ARGV[2], ARGV[1], 'code', ARGV[4], 'policy', redis.call('HGET', KEYS[2], 'policy') or '')
return 'settled'
