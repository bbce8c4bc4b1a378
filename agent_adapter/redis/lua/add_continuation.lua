-- Store what workers need to resume a run, for a record that was published without it. A second one is ignored.
--
-- KEYS  req, run, inbox
-- ARGV  id, prefix
--       continuation
--       needs         what a worker needs to resume the run
--       head_start    milliseconds before a worker may start, for a process that waits
-- Returns 'added' | 'known' | 'unknown'

local req, run, inbox = unpack(KEYS)
local id, prefix, continuation, needs, head_start = unpack(ARGV)

if redis.call('EXISTS', req) == 0 then
  return 'unknown'
end
if redis.call('HEXISTS', req, 'needs') == 1 then
  return 'known'
end
local status = redis.call('HGET', prefix .. 'card:' .. id, 'status')
local has_ended = status and status ~= 'pending'
if has_ended then
  note_for_bots(inbox, 'continued', id)
end
store_continuation(req, run, continuation, needs, head_start)
if has_ended then
  wake_bots(prefix, id)
end
return 'added'
