-- Keep this process known as alive, and tell which of its records want a look.
--
-- KEYS  1 replies stream of this process  2 bots
-- ARGV  1 milliseconds to live  2 grace after a deadline  3 prefix  4 where its unread replies begin  5.. ids
-- Returns {milliseconds since a bot was last seen, or -1, id, id, …}

local at = now()
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('XADD', KEYS[1], '*', 'id', '')
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
-- A reply may tell an answer, which is not to outlive its record here.
redis.call('XTRIM', KEYS[1], 'MINID', ARGV[4])

local seen = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local answer = { seen[2] and math.max(0, at - seen[2]) or -1 }
for i = 5, #ARGV do
  -- One that cannot be read wants a look: whoever waits for it hears of it.
  local status, deadline = unpack(try('HMGET', ARGV[3] .. 'card:' .. ARGV[i], 'status', 'deadline') or { 'unreadable' })
  local asked = try('HGET', ARGV[3] .. 'req:' .. ARGV[i], 'deadline')
  deadline = tonumber(asked and (deadline or asked))
  if (status and status ~= 'pending') or not deadline or at > deadline + ARGV[2] then
    answer[#answer + 1] = ARGV[i]
  end
end
return answer
