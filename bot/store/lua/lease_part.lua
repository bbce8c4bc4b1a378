-- Lease one message of a card for one call to Slack. The intent is noted before the call.
--
-- KEYS  req, card, epoch
-- ARGV  prefix
--       part
--       owner
--       lease  milliseconds
--       known  the digest of the record as the caller read it, or ''
-- Returns {'mine', since, epoch, record} | {'takeover', since, epoch, record}: somebody may have posted it and not saved that
--         | {'busy', milliseconds, epoch} | {'gone', 0, epoch}: the record has ended its retention
--         `since` is when the first intent was noted, `epoch` how many heartbeats all bots have sent, `record` as `read` gave it
--         before; without it, the record is as the caller knows it

local req, card, epoch = unpack(KEYS)
local prefix, part, owner, lease, known = unpack(ARGV)

local epochs = tonumber(redis.call('GET', epoch) or 0)
if redis.call('EXISTS', card) == 0 then
  return { 'gone', 0, epochs }
end
local at = now()
local record = read_record(req, card, at)
local held = redis.call('HGET', card, 'lease:' .. part)
local outcome, since = 'mine', text(at)
if held then
  local holder, till, first = string.match(held, '^(%S+) (%d+) (%d+)$')
  -- A lease in another form was not written by a script, and does not count.
  if holder and holder ~= owner then
    local left, is_new = lease_left(tonumber(till), tonumber(lease), prefix, at)
    if is_new then
      redis.call('HSET', card, 'lease:' .. part, holder .. ' ' .. text(at + left) .. ' ' .. first)
    end
    if left > 0 then
      return { 'busy', left, epochs }
    end
  end
  since = first or since
  if redis.call('HEXISTS', card, 'part:' .. part) == 0 then
    outcome = 'takeover'
  end
end
redis.call('HSET', card, 'lease:' .. part, owner .. ' ' .. text(at + lease) .. ' ' .. since)
local stored = table.concat(record[1], '\0') .. '\0\0' .. table.concat(record[2], '\0')
if redis.sha1hex(stored) == known then
  return { outcome, since, epochs }
end
return { outcome, since, epochs, record }
