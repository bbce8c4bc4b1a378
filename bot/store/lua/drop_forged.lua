-- Remove fields of a card that no bot wrote, and have it drawn again.
--
-- KEYS  card, undrawn, audit
-- ARGV  id
--       for each of them: its name, and what it says. One that says something else by now stays
-- Returns the names of those that were removed

local card, undrawn, audit = unpack(KEYS)
local id = unpack(ARGV)
local FIRST_FIELD = 2

local dropped = {}
for i = FIRST_FIELD, #ARGV, 2 do
  local field, said = ARGV[i], ARGV[i + 1]
  if redis.call('HGET', card, field) == said then
    redis.call('HDEL', card, field, 'seal:' .. field)
    append(dropped, field)
  end
end
if #dropped > 0 then
  write_audit(audit, 'forged', id, 'fields', table.concat(dropped, ' '))
  queue_drawing(undrawn, id, now())
end
return dropped
