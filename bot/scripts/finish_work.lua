-- Give claimed work back: done, or to be done later. Work that came in since the claim stays due.
--
-- KEYS  1 undrawn, due or unresumed
-- ARGV  1 id  2 lease of the claim  3 milliseconds to wait, or '' when done
-- Returns 1 | 0: it changed since

if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or -1) ~= tonumber(ARGV[2]) then
  return 0
end
if ARGV[3] == '' then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], text(now() + ARGV[3]), ARGV[1])
end
return 1
