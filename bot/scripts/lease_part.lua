-- Take one message of a card for one call to Slack, and note the intent before the call.
--
-- KEYS  1 card
-- ARGV  1 part  2 owner  3 lease in milliseconds
-- Returns {'mine', since} | {'takeover', since}: a post may have been made and not saved | {'busy', milliseconds}
--         | {'gone', 0}: the record has ended its retention
--         `since` is when the first such intent was noted

if redis.call('EXISTS', KEYS[1]) == 0 then
  return { 'gone', 0 }
end
local at = now()
local held = redis.call('HGET', KEYS[1], 'lease:' .. ARGV[1])
local outcome, since = 'mine', text(at)
if held then
  local owner, till, first = string.match(held, '^(%S+) (%d+) (%d+)$')
  if owner ~= ARGV[2] and tonumber(till) > at then
    return { 'busy', tonumber(till) - at }
  end
  since = first
  if redis.call('HEXISTS', KEYS[1], 'part:' .. ARGV[1]) == 0 then
    outcome = 'takeover'
  end
end
redis.call('HSET', KEYS[1], 'lease:' .. ARGV[1], ARGV[2] .. ' ' .. text(at + ARGV[3]) .. ' ' .. since)
return { outcome, since }
