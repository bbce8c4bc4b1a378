-- Lease the card of a queue for one call to Slack. The intent is noted before the call.
--
-- KEYS  queue
-- ARGV  owner
--       lease  milliseconds
-- Returns {'mine' | 'takeover', since}: with 'takeover', somebody may have posted the card since then and not saved that
--         | {'busy', 0}: another process has the lease | {'gone', 0}: the queue has ended

local queue = unpack(KEYS)
local owner, lease = unpack(ARGV)

local at = now()
local name, ts, held = unpack(redis.call('HMGET', queue, 'name', 'ts', 'lease'))
if not name then
  return { 'gone', 0 }
end
local since = text(at)
if held then
  local till, first = string.match(held, '^%S+ (%d+) (%d+)$')
  -- A lease that ends later than a lease can was written before the clock was set back. What no script wrote holds nothing.
  if till and tonumber(till) > at and tonumber(till) <= at + lease then
    return { 'busy', 0 }
  end
  since = first or since
end
redis.call('HSET', queue, 'lease', owner .. ' ' .. text(at + lease) .. ' ' .. since)
return { held and not ts and 'takeover' or 'mine', since }
