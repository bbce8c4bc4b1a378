-- Store what workers need to resume a run, for a record that was published without it. A second one is ignored.
--
-- KEYS  req, card, run, unresumed
-- ARGV  id, prefix
--       continuation
--       needs         what a worker needs to resume the run
--       head_start    milliseconds before a worker may start, for a process that waits
-- Returns 'added' | 'known' | 'unknown'

local req, card, run, unresumed = unpack(KEYS)
local id, prefix, continuation, needs, head_start = unpack(ARGV)

if redis.call('EXISTS', req) == 0 then
  return 'unknown'
end
if redis.call('HEXISTS', req, 'needs') == 1 then
  return 'known'
end
local status = redis.call('HGET', card, 'status')
if status and status ~= 'pending' then
  redis.call('HSET', req, 'head_start', head_start)
  if queue_run(unresumed, req, prefix, id, now()) then
    persist_record(id, prefix)
  end
end
store_continuation(req, run, continuation, needs, head_start)
return 'added'
