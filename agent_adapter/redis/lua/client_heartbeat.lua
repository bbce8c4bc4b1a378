-- Note that a process of an agent is alive, and return those of its records that it has to read. If no bot has looked into
-- the inbox of its agent yet, one is woken again.
--
-- KEYS  replies  stream of this process
--       inbox
-- ARGV  id  of the process
--       prefix
--       lifetime  milliseconds until it counts as dead
--       grace     milliseconds after a deadline
--       unread    where its unread replies begin
--       ids of records, …
-- Returns {milliseconds since a bot was last seen, or -1, id, id, …}

local replies, inbox = unpack(KEYS)
local id, prefix, lifetime, grace, unread = unpack(ARGV)
local FIRST_ID = 6

local at = now()
if redis.call('EXISTS', replies) == 0 then
  redis.call('XADD', replies, '*', 'id', '')
end
redis.call('PEXPIRE', replies, lifetime)
-- A reply may contain an answer, and an answer must not be kept for longer than its record.
redis.call('XTRIM', replies, 'MINID', unread)

local seen = redis.call('ZREVRANGE', prefix .. 'bots', 0, 0, 'WITHSCORES')
local answer = { seen[2] and math.max(0, at - seen[2]) or -1 }
for i = FIRST_ID, #ARGV do
  local record = ARGV[i]
  -- A record that cannot be read is named too, so that its waiters get the error.
  local status, deadline = unpack(try('HMGET', prefix .. 'card:' .. record, 'status', 'deadline') or { 'unreadable' })
  local asked = try('HGET', prefix .. 'req:' .. record, 'deadline')
  deadline = tonumber(asked and (deadline or asked))
  if (status and status ~= 'pending') or not deadline or at > deadline + grace then
    answer[#answer + 1] = record
  end
end
if redis.call('EXISTS', inbox) == 1 then
  wake_bots(prefix, id)
end
return answer
