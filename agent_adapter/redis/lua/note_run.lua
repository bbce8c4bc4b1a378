-- Write a note about a run that is being resumed. A second note of the same name is ignored.
--
-- KEYS  req, run
-- ARGV  name, note
-- Returns the stored note, or '' when the run has gone on without the caller, or the record is gone

local req, run = unpack(KEYS)
local name, note = unpack(ARGV)

if redis.call('EXISTS', req) == 0 or redis.call('HEXISTS', req, 'resumed') == 1 then
  return ''
end
redis.call('HSETNX', run, name, note)
return redis.call('HGET', run, name)
