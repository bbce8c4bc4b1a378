-- Count a failed attempt at claimed work, and have it tried again later; after too many it stays out of its set until
-- something new happens to the record or an operator releases it. Work that came in since the claim stays due.
--
-- KEYS  1 undrawn or due  2 failing
-- ARGV  1 id  2 lease of the claim  3 milliseconds to the second attempt  4 how many attempts are too many  5 why it failed
-- Returns how many attempts have failed, 0 when the claim is not the newest

if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or -1) ~= tonumber(ARGV[2]) then
  return 0
end
local at, name = now(), failing_name(KEYS[1], ARGV[1])
local failures, since = string.match(redis.call('HGET', KEYS[2], name) or '', '^(%d+) (%d+) ')
failures = (failures or 0) + 1
redis.call('HSET', KEYS[2], name, text(failures) .. ' ' .. (since or text(at)) .. ' ' .. ARGV[5])
if failures >= tonumber(ARGV[4]) then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], text(at + ARGV[3] * 2 ^ (failures - 1)), ARGV[1])
end
return failures
