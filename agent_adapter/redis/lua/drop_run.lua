-- Stop owing a run to workers, because its record ended without an answer to resume with.
--
-- KEYS  req, unresumed, audit
-- ARGV  id, prefix

local req, unresumed, audit = unpack(KEYS)
local id, prefix = unpack(ARGV)

if redis.call('ZREM', unresumed, id) == 1 and redis.call('EXISTS', req) == 1 then
  expire_record(id, prefix, KEPT_UNRESUMED)
  write_audit(audit, 'let_go', id)
end
