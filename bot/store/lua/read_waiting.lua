-- Merge sets of records, the oldest deadline first.
--
-- KEYS  the sets, …
-- ARGV  after  deadline after which to begin, or ''
--       last   and the id of that record
--       limit  how many records
-- Returns {id, deadline, id, deadline, …}

local after, last, limit = unpack(ARGV)
local from = after == '' and '-inf' or after
limit = tonumber(limit)

local found, deadlines = {}, {}
local function take(set)
  local start, taken = 0, 0
  while taken < limit do
    local page = try('ZRANGEBYSCORE', set, from, '+inf', 'WITHSCORES', 'LIMIT', start, limit) or {}
    for i = 1, #page, 2 do
      local id, deadline = page[i], tonumber(page[i + 1])
      if after == '' or deadline > tonumber(after) or id > last then
        taken = taken + 1
        if not deadlines[id] then
          deadlines[id] = deadline
          found[#found + 1] = id
        end
      end
    end
    if #page < 2 * limit then
      return
    end
    start = start + limit
  end
end

for _, set in ipairs(KEYS) do
  take(set)
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
