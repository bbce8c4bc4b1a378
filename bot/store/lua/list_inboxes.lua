-- List the agents that have noted something in their inbox which no bot has taken yet.
--
-- KEYS  inboxes  agents and when something was last taken from their inbox
-- ARGV  prefix
--       then names of further agents to look at
-- Returns {agent, …}: first the known ones, of which the one that was taken from longest ago comes first

local inboxes = unpack(KEYS)
local prefix = unpack(ARGV, 1, 1)
-- An agent that says nothing for longer is found by its wake-up, or when a bot looks for all inboxes.
local REMEMBERED = 7 * DAY

redis.call('ZREMRANGEBYSCORE', inboxes, '-inf', text(now() - REMEMBERED))
local found, looked = {}, {}
local function look(agent)
  if not looked[agent] and redis.call('EXISTS', prefix .. 'inbox:' .. agent) == 1 then
    append(found, agent)
  end
  looked[agent] = true
end
for _, agent in ipairs(redis.call('ZRANGE', inboxes, 0, -1)) do
  look(agent)
end
for i = 2, #ARGV do
  look(ARGV[i])
end
return found
