-- Enter into the audit trail that somebody erases what the log says about one request, or about one person.
--
-- KEYS  audit
-- ARGV  id      the request; '' for a person
--       by      who does, as their machine names them
--       reason  why, as they say; '' when they do not

local audit = unpack(KEYS)
local id, by, reason = unpack(ARGV)

if reason == '' then
  write_audit(audit, 'erased', id, 'by', by)
else
  write_audit(audit, 'erased', id, 'by', by, 'reason', reason)
end
