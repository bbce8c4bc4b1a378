-- Take due work from a set of owed work, by making it due again after the lease. If more is due than is taken, the agents
-- take turns, so that much work of one agent does not delay the work of others.
--
-- KEYS  owed   undrawn or due
-- ARGV  limit  how many to take
--       lease  milliseconds
-- Returns {id, lease, id, lease, …}: the lease names this claim when the work is finished

local owed = unpack(KEYS)
local limit, lease = unpack(ARGV)
-- How many ids are looked at, and how many of one agent stay due if there are more. The others are due later.
local LOOK_AT = 1000
local STAY = 100
local LATER = 1000

local at = now()
local till = text(at + lease)
local due = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', owed, '-inf', text(at), 'LIMIT', 0, LOOK_AT)) do
  if string.find(id, '[^ -~]') then
    -- This is not one of our ids, and its reader could not read the other ids of the answer.
    redis.call('ZREM', owed, id)
  else
    due[#due + 1] = id
  end
end

local agents, by_agent = {}, {}
for _, id in ipairs(due) do
  local agent = agent_of(id)
  if not by_agent[agent] then
    by_agent[agent] = {}
    agents[#agents + 1] = agent
  end
  table.insert(by_agent[agent], id)
end

local taken, row = {}, 1
local wanted = 2 * math.min(tonumber(limit), #due)
while #taken < wanted do
  for _, agent in ipairs(agents) do
    local id = by_agent[agent][row]
    if id and #taken < wanted then
      redis.call('ZADD', owed, till, id)
      taken[#taken + 1] = id
      taken[#taken + 1] = till
    end
  end
  row = row + 1
end

-- An agent whose work is not among the first ids is seen next time, because most of a flood is due again a second later.
if #due == LOOK_AT then
  for _, agent in ipairs(agents) do
    for i = math.max(row, STAY), #by_agent[agent] do
      redis.call('ZADD', owed, text(at + LATER), by_agent[agent][i])
    end
  end
end
return taken
