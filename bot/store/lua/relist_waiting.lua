-- Write the entries of open records again, where they were lost.
--
-- KEYS  due  names the slot
-- ARGV  prefix
--       id of each record, …

local due = unpack(KEYS) -- luacheck: ignore due
local prefix = unpack(ARGV)
local FIRST_ID = 2

local at = now()
for i = FIRST_ID, #ARGV do
  local id = ARGV[i]
  local status, deadline, waiting = unpack(try('HMGET', prefix .. 'card:' .. id, 'status', 'deadline', 'waiting') or {})
  -- A record without a deadline is damaged, and no reason to leave out the others.
  if status == 'pending' and tonumber(deadline) and waiting then
    add_waiting(prefix, id, waiting, deadline, at)
  end
end
