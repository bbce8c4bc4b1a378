-- Count what waits for several people, groups and channels, by agent. Nothing is read but the ids.
--
-- KEYS  the list of each of them, …
-- ARGV  prefix
-- Returns {agent, count, agent, count, …}

local prefix = unpack(ARGV)
local AT_ONCE = 1000

local counts, agents, seen = {}, {}, {}
local function count(id)
  local agent = string.match(id, '^[^.]*')
  if not counts[agent] then
    counts[agent] = 0
    append(agents, agent)
  end
  counts[agent] = counts[agent] + 1
end

for _, list in ipairs(lists_of_all(prefix, KEYS)) do
  local start = 0
  repeat
    local ids = try('ZRANGE', list, start, start + AT_ONCE - 1) or {}
    for _, id in ipairs(ids) do
      if not seen[id] then
        seen[id] = true
        count(id)
      end
    end
    start = start + AT_ONCE
  until #ids < AT_ONCE
end
local answer = {}
for _, agent in ipairs(agents) do
  append(answer, agent, text(counts[agent]))
end
return answer
