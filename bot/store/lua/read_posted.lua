-- Read which messages in Slack belong to records for which something falls due, some records at a time.
--
-- KEYS  due
-- ARGV  prefix
--       first   number of the first record
--       last    number of the last record
-- Returns {how many records were read, id, fields, id, fields, …}; fields are name, value, … as in `message_fields`

local due = unpack(KEYS)
local prefix, first, last = unpack(ARGV)

local ids = redis.call('ZRANGE', due, first, last)
local answer = { #ids }
for _, id in ipairs(ids) do
  local fields = message_fields(prefix .. 'card:' .. id)
  if #fields > 0 then
    append(answer, id, fields)
  end
end
return answer
