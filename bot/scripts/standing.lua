-- Tell where the messages of records stand, some records at a time.
--
-- KEYS  1 due
-- ARGV  1 prefix  2 number of the first record  3 of the last
-- Returns {how many were looked at, id, fields, id, fields, …}; fields are name, value, name, value, … as in `told_of`

local ids = redis.call('ZRANGE', KEYS[1], ARGV[2], ARGV[3])
local answer = { #ids }
for _, id in ipairs(ids) do
  local told = told_of(ARGV[1] .. 'card:' .. id)
  if #told > 0 then
    append(answer, id, told)
  end
end
return answer
