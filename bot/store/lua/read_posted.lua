-- Read which messages in Slack some records have.
--
-- KEYS  due  names the slot
-- ARGV  prefix
--       id of each record, …
-- Returns {id, fields, id, fields, …}; fields are name, value, … as in `message_fields`, and `resumed` where its run was

local due = unpack(KEYS) -- luacheck: ignore due
local prefix = unpack(ARGV)
local FIRST_ID = 2

local answer = {}
for i = FIRST_ID, #ARGV do
  local id = ARGV[i]
  local fields = message_fields(prefix .. 'card:' .. id)
  if #fields > 0 then
    if try('HEXISTS', prefix .. 'req:' .. id, 'resumed') == 1 then
      append(fields, 'resumed', '1')
    end
    append(answer, id, fields)
  end
end
return answer
