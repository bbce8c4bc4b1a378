-- Note that a process of an agent is alive, and return those of its records that it has to read.
--
-- KEYS  replies  stream of this process
--       bots
-- ARGV  prefix
--       lifetime  milliseconds until it counts as dead
--       grace     milliseconds after a deadline
--       unread    where its unread replies begin
--       ids of records, …
-- Returns {milliseconds since a bot was last seen, or -1, id, id, …}

local replies, bots = unpack(KEYS)
local prefix, lifetime, grace, unread = unpack(ARGV)
local FIRST_ID = 5

local at = now()
if redis.call('EXISTS', replies) == 0 then
  redis.call('XADD', replies, '*', 'id', '')
end
redis.call('PEXPIRE', replies, lifetime)
-- A reply may contain an answer, and an answer must not be kept for longer than its record.
redis.call('XTRIM', replies, 'MINID', unread)

local seen = redis.call('ZREVRANGE', bots, 0, 0, 'WITHSCORES')
local answer = { seen[2] and math.max(0, at - seen[2]) or -1 }
for i = FIRST_ID, #ARGV do
  local id = ARGV[i]
  -- A record that cannot be read is named too, so that its waiters get the error.
  local status, deadline = unpack(try('HMGET', prefix .. 'card:' .. id, 'status', 'deadline') or { 'unreadable' })
  local asked = try('HGET', prefix .. 'req:' .. id, 'deadline')
  deadline = tonumber(asked and (deadline or asked))
  if (status and status ~= 'pending') or not deadline or at > deadline + grace then
    answer[#answer + 1] = id
  end
end
return answer
