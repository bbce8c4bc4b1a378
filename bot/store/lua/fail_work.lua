-- Count a failed attempt at leased work, and have it tried again later. After too many attempts it leaves its set until
-- something new happens to the record or an operator releases it. Work that came in since the lease stays due.
--
-- KEYS  owed  undrawn or due
--       failing
-- ARGV  id
--       lease
--       first_pause  milliseconds to the second attempt; each pause is twice as long as the last
--       too_many     attempts after which it is set aside
--       reason
-- Returns how many attempts have failed, 0 when another process has leased it since

local owed, failing = unpack(KEYS)
local id, lease, first_pause, too_many, reason = unpack(ARGV)

if tonumber(redis.call('ZSCORE', owed, id) or -1) ~= tonumber(lease) then
  return 0
end
local at, field = now(), failing_field(owed, id)
local failures, since = string.match(redis.call('HGET', failing, field) or '', '^([1-9]%d*) (%d+) ')
failures = (failures or 0) + 1
redis.call('HSET', failing, field, text(failures) .. ' ' .. (since or text(at)) .. ' ' .. reason)
if failures >= tonumber(too_many) then
  redis.call('ZREM', owed, id)
else
  redis.call('ZADD', owed, text(at + first_pause * 2 ^ (failures - 1)), id)
end
return failures
