-- Take what is due from a set of owed work, by moving it a lease ahead. Where more is due than is taken, the agents take
-- turns, so that one agent's flood keeps nobody else's work waiting.
--
-- KEYS  1 undrawn, due or unresumed
-- ARGV  1 how many  2 lease in milliseconds
-- Returns {id, lease, id, lease, …}: the lease names this claim when the work is finished

local LOOK_AT = 1000
local STAY = 100
local LATER = 1000

local at = now()
local many, lease = tonumber(ARGV[1]), text(at + ARGV[2])
local due = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(at), 'LIMIT', 0, LOOK_AT)) do
  if string.find(id, '[^ -~]') then
    -- Not an id of ours: whoever is handed it could read nothing else of this set.
    redis.call('ZREM', KEYS[1], id)
  else
    due[#due + 1] = id
  end
end

local agents, by_agent = {}, {}
for _, id in ipairs(due) do
  local agent = string.match(id, '^[^.]*')
  if not by_agent[agent] then
    by_agent[agent] = {}
    agents[#agents + 1] = agent
  end
  table.insert(by_agent[agent], id)
end

local taken, row = {}, 1
while #taken < 2 * math.min(many, #due) do
  for _, agent in ipairs(agents) do
    local id = by_agent[agent][row]
    if id and #taken < 2 * many then
      redis.call('ZADD', KEYS[1], lease, id)
      taken[#taken + 1] = id
      taken[#taken + 1] = lease
    end
  end
  row = row + 1
end

-- Whose work is not among the first that are due is seen next time: most of a flood comes due again a second later.
if #due == LOOK_AT then
  for _, agent in ipairs(agents) do
    for i = math.max(row, STAY), #by_agent[agent] do
      redis.call('ZADD', KEYS[1], text(at + LATER), by_agent[agent][i])
    end
  end
end
return taken
