-- Enter something into the audit trail that changes no record.
--
-- KEYS  audit
-- ARGV  id     the record; '' for none
--       event
--       its fields and their values, …

local audit = unpack(KEYS)
local id, event = unpack(ARGV)

write_audit(audit, event, id, unpack(ARGV, 3))
