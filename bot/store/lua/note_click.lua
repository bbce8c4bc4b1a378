-- Enter into the audit trail that somebody pressed, and that nothing was stored.
--
-- KEYS  audit
-- ARGV  id
--       event   'click_refused' | 'click_failed'
--       user
--       button  what they pressed
--       index   of the action, '' when it is about several or none
--       code    why

local audit = unpack(KEYS)
local id, event, user, button, index, code = unpack(ARGV)

if index == '' then
  write_audit(audit, event, id, 'by', user, 'button', button, 'code', code)
else
  write_audit(audit, event, id, 'index', index, 'by', user, 'button', button, 'code', code)
end
