-- Remove records that have ended or are gone from what waits for several people, groups and channels.
--
-- KEYS  the list of each of them, …
-- ARGV  prefix
--       id of each record, …

local prefix = unpack(ARGV)
local FIRST_ID = 2

local lists = lists_of_all(prefix, KEYS)
for i = FIRST_ID, #ARGV do
  local id = ARGV[i]
  local status = try('HGET', prefix .. 'card:' .. id, 'status')
  if status and status ~= 'pending' or redis.call('EXISTS', prefix .. 'req:' .. id) == 0 then
    for _, list in ipairs(lists) do
      try('ZREM', list, id)
    end
  end
end
