-- Take one message of a card for one call to Slack, and note the intent before the call.
--
-- KEYS  1 card  2 epoch
-- ARGV  1 part  2 owner  3 lease in milliseconds  4 prefix
-- Returns {'mine', since, epoch} | {'takeover', since, epoch}: a post may have been made and not saved
--         | {'busy', milliseconds, epoch} | {'gone', 0, epoch}: the record has ended its retention
--         `since` is when the first such intent was noted, `epoch` how often any bot has said that it lives

local epoch = tonumber(redis.call('GET', KEYS[2]) or 0)
if redis.call('EXISTS', KEYS[1]) == 0 then
  return { 'gone', 0, epoch }
end
local at = now()
local held = redis.call('HGET', KEYS[1], 'lease:' .. ARGV[1])
local outcome, since = 'mine', text(at)
if held then
  local owner, till, first = string.match(held, '^(%S+) (%d+) (%d+)$')
  if owner ~= ARGV[2] then
    local left, anew = left_of(tonumber(till), tonumber(ARGV[3]), ARGV[4], at)
    if anew then
      redis.call('HSET', KEYS[1], 'lease:' .. ARGV[1], owner .. ' ' .. text(at + left) .. ' ' .. first)
    end
    if left > 0 then
      return { 'busy', left, epoch }
    end
  end
  since = first
  if redis.call('HEXISTS', KEYS[1], 'part:' .. ARGV[1]) == 0 then
    outcome = 'takeover'
  end
end
redis.call('HSET', KEYS[1], 'lease:' .. ARGV[1], ARGV[2] .. ' ' .. text(at + ARGV[3]) .. ' ' .. since)
return { outcome, since, epoch }
