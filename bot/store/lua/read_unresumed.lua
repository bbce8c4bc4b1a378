-- Read which messages in Slack belong to records that have ended and whose run nobody has resumed, some keys at a time.
-- This scans the keys, because no set holds these records: they wait only for their agent.
--
-- KEYS  due  names the slot
-- ARGV  prefix
--       cursor  where to continue, 0 at first
-- Returns {where to continue, 0 at the end, id, fields, id, fields, …}; fields as in `read_posted`

local due = unpack(KEYS) -- luacheck: ignore due
local prefix, cursor = unpack(ARGV)
local LOOK_AT = 1000

local before = prefix .. 'card:'
local found = redis.call('SCAN', cursor, 'MATCH', '*:card:*', 'COUNT', LOOK_AT)
local answer = { found[1] }
for _, key in ipairs(found[2]) do
  if string.sub(key, 1, #before) == before then
    local id = string.sub(key, #before + 1)
    local status = try('HGET', key, 'status')
    if status and status ~= 'pending' and status ~= 'refused' and try('HEXISTS', prefix .. 'req:' .. id, 'resumed') == 0 then
      append(answer, id, message_fields(key))
    end
  end
end
return answer
