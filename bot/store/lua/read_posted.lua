-- Read which messages in Slack some records have.
--
-- KEYS  due  names the slot
-- ARGV  prefix
--       id of each record, …
-- Returns {id, fields, id, fields, …}; fields are name, value, … as in `message_fields`, and `resumed` where its run was

local due = unpack(KEYS) -- luacheck: ignore due
local prefix = unpack(ARGV)
local FIRST_ID = 2

-- Return the fields of a card that say where its messages are: `status`, `place:<n>`, `part:<n>` with its mark, and
-- `lease:<n>` of messages for which a call to Slack has started. Fields that are not plain text are left out, so that the
-- others can be read.
local function message_fields(card_key)
  local kinds = { place = true, part = true, lease = true, status = true }
  local card, found = try('HGETALL', card_key) or {}, {}
  for i = 1, #card, 2 do
    local kind = string.match(card[i], '^%a+')
    if (kinds[kind] or string.find(card[i], '^seal:part:')) and not string.find(card[i] .. card[i + 1], '[^ -~]') then
      append(found, card[i], card[i + 1])
    end
  end
  return found
end

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
