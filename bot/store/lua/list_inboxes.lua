-- List the agents that have noted something in their inbox which no bot has taken yet.
--
-- KEYS  inboxes  agents and when something was last taken from their inbox
-- ARGV  prefix
-- Returns {agent, …}

local inboxes = unpack(KEYS)
local prefix = unpack(ARGV)
-- An agent that says nothing for longer is found by its wake-up, or when a bot looks for all inboxes.
local REMEMBERED = 7 * DAY

redis.call('ZREMRANGEBYSCORE', inboxes, '-inf', text(now() - REMEMBERED))
local found = {}
for _, agent in ipairs(redis.call('ZRANGE', inboxes, 0, -1)) do
  if redis.call('EXISTS', prefix .. 'inbox:' .. agent) == 1 then
    append(found, agent)
  end
end
return found
