-- Take due runs that this worker can resume, by making them due again after the lease. The others stay due.
--
-- KEYS  unresumed
-- ARGV  prefix
--       agent    whose runs
--       limit    how many to take
--       lease    milliseconds
--       first    how many due runs to pass over
--       look_at  how many to look at
--       the needs that this worker can meet, …
-- Returns {how many were looked at, {what others need}, id, lease, id, lease, …}

local unresumed = unpack(KEYS)
local prefix, agent, limit, lease, first, look_at = unpack(ARGV)
local FIRST_NEED = 7

local at = now()
local till = text(at + lease)
local can = {}
for i = FIRST_NEED, #ARGV do
  can[ARGV[i]] = true
end
local due = redis.call('ZRANGEBYSCORE', unresumed, '-inf', text(at), 'LIMIT', first, look_at)
local missing, others, taken = {}, {}, {}
for _, id in ipairs(due) do
  -- A key of another type says nothing. The run stays owed, where an operator sees it.
  local needs
  if agent_of(id) == agent then
    needs = try('HGET', prefix .. 'req:' .. id, 'needs')
  end
  if needs == false then
    -- Somebody deleted the record by hand.
    redis.call('ZREM', unresumed, id)
  elseif needs and can[needs] then
    redis.call('ZADD', unresumed, till, id)
    append(taken, id, till)
    if #taken >= 2 * limit then
      break
    end
  elseif needs and not missing[needs] then
    missing[needs] = true
    append(others, needs)
  end
end
return { #due, others, unpack(taken) }
