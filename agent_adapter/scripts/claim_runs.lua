-- Take runs that are due and that this worker can go on with, by moving them a lease ahead. The others stay due.
--
-- KEYS  1 unresumed
-- ARGV  1 how many  2 lease in milliseconds  3 prefix  4 how many due runs to pass over  5 how many to look at
--       6.. what this worker can go on with
-- Returns {how many were looked at, {what others need}, id, lease, id, lease, …}

local at = now()
local lease = text(at + ARGV[2])
local can = {}
for i = 6, #ARGV do
  can[ARGV[i]] = true
end
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(at), 'LIMIT', ARGV[4], ARGV[5])
local missing, answer = {}, { #due, {} }
for _, id in ipairs(due) do
  local needs = try('HGET', ARGV[3] .. 'req:' .. id, 'needs')
  if needs == nil then
    -- Passed over: an operator sees it among the owed runs.
  elseif not needs then
    -- Somebody deleted the record by hand.
    redis.call('ZREM', KEYS[1], id)
  elseif can[needs] then
    redis.call('ZADD', KEYS[1], lease, id)
    answer[#answer + 1] = id
    answer[#answer + 1] = lease
    if #answer >= 2 + 2 * ARGV[1] then
      break
    end
  elseif not missing[needs] then
    missing[needs] = true
    table.insert(answer[2], needs)
  end
end
return answer
