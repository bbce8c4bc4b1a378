-- Enter into the audit trail that somebody erases what the sealed log says about one request.
--
-- KEYS  audit
-- ARGV  id
--       by      who does, as their machine names them
--       places  where these entries are in the log: '3-5, 9'
--       reason  why, as they say; '' when they do not

local audit = unpack(KEYS)
local id, by, places, reason = unpack(ARGV)

if reason == '' then
  write_audit(audit, 'erased', id, 'by', by, 'places', places)
else
  write_audit(audit, 'erased', id, 'by', by, 'places', places, 'reason', reason)
end
