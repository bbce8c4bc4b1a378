-- Write the entries of open records again, where they were lost. Every open record is in `due`.
--
-- KEYS  due
-- ARGV  prefix
--       first  which records of it to look at, from 0
--       limit  how many
-- Returns how many were looked at

local due = unpack(KEYS)
local prefix, first, limit = unpack(ARGV)

local at = now()
local ids = redis.call('ZRANGE', due, first, first + limit - 1)
for _, id in ipairs(ids) do
  local status, deadline, waiting = unpack(try('HMGET', prefix .. 'card:' .. id, 'status', 'deadline', 'waiting') or {})
  -- A record without a deadline is damaged, and no reason to leave out the others.
  if status == 'pending' and tonumber(deadline) and waiting then
    add_waiting(prefix, id, waiting, deadline, at)
  end
end
return #ids
