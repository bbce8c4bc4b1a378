-- Stop owing a run to workers, because its record ended without an answer to resume with.
--
-- KEYS  inbox, unresumed
-- ARGV  id, prefix

local inbox, unresumed = unpack(KEYS)
local id, prefix = unpack(ARGV)

if redis.call('ZREM', unresumed, id) == 1 then
  note_for_bots(inbox, 'let_go', id)
  wake_bots(prefix, id)
end
