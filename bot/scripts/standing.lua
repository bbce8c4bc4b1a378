-- Tell where the messages of records stand, some records at a time.
--
-- KEYS  1 due or unresumed
-- ARGV  1 prefix  2 number of the first record  3 of the last
-- Returns {how many were looked at, id, fields, id, fields, …}; fields are name, value, name, value, … of the card: `status`,
-- `place:<n>`, `part:<n>`, and `lease:<n>` of messages about which a call was begun

local TOLD = { place = true, part = true, lease = true, status = true }
local ids = redis.call('ZRANGE', KEYS[1], ARGV[2], ARGV[3])
local answer = { #ids }
for _, id in ipairs(ids) do
  local card, told = try('HGETALL', ARGV[1] .. 'card:' .. id) or {}, {}
  for i = 1, #card, 2 do
    local kind = string.match(card[i], '^%a+')
    -- What is not plain text is left out, or nothing could be read of the others.
    if TOLD[kind] and not string.find(card[i] .. card[i + 1], '[^ -~]') then
      told[#told + 1] = card[i]
      told[#told + 1] = card[i + 1]
    end
  end
  if #told > 0 then
    answer[#answer + 1] = id
    answer[#answer + 1] = told
  end
end
return answer
