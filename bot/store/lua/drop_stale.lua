-- Remove records that have ended or are gone from sets of records.
--
-- KEYS  the sets, …
-- ARGV  prefix
--       id of each record, …

local prefix = unpack(ARGV)
local FIRST_ID = 2

for i = FIRST_ID, #ARGV do
  local id = ARGV[i]
  local status = try('HGET', prefix .. 'card:' .. id, 'status')
  if status and status ~= 'pending' or redis.call('EXISTS', prefix .. 'req:' .. id) == 0 then
    for _, set in ipairs(KEYS) do
      try('ZREM', set, id)
    end
  end
end
