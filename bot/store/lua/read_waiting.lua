-- Merge what waits for several people, groups and channels, the oldest deadline first.
--
-- KEYS  the list of each of them, …
-- ARGV  prefix
--       after  deadline after which to begin, or ''
--       last   and the id of that record
--       limit  how many records
--       agent  only records of this agent, or ''
-- Returns {id, deadline, id, deadline, …}

local prefix, after, last, limit, agent = unpack(ARGV)
local from = after == '' and '-inf' or after
limit = tonumber(limit)
-- Among the records of many agents, those of one may be few.
local OF_MANY = 1000
local at_once = agent == '' and limit or OF_MANY
local begin = agent .. '.'

local found, deadlines = {}, {}
local function take(list)
  local start, taken = 0, 0
  while taken < limit do
    local page = try('ZRANGEBYSCORE', list, from, '+inf', 'WITHSCORES', 'LIMIT', start, at_once) or {}
    for i = 1, #page, 2 do
      local id, deadline = page[i], tonumber(page[i + 1])
      local is_later = after == '' or deadline > tonumber(after) or id > last
      if is_later and (agent == '' or string.sub(id, 1, #begin) == begin) then
        taken = taken + 1
        if not deadlines[id] then
          deadlines[id] = deadline
          found[#found + 1] = id
        end
      end
    end
    if #page < 2 * at_once then
      return
    end
    start = start + at_once
  end
end

for _, list in ipairs(lists_of_all(prefix, KEYS)) do
  take(list)
end
table.sort(found, function(one, other)
  if deadlines[one] == deadlines[other] then
    return one < other
  end
  return deadlines[one] < deadlines[other]
end)
local answer = {}
for i = 1, math.min(limit, #found) do
  append(answer, found[i], text(deadlines[found[i]]))
end
return answer
