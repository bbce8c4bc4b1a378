-- Give claimed work back: done, or to be done later. Work that came in since the claim stays due.
--
-- KEYS  1 undrawn, due or unresumed  2 failing, where this attempt succeeded
-- ARGV  id, lease of the claim, milliseconds to wait or '' when done, id, lease, milliseconds, …
-- Returns how many of them had failed before

local at, mended = now(), 0
for i = 1, #ARGV, 3 do
  if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[i]) or -1) == tonumber(ARGV[i + 1]) then
    if ARGV[i + 2] == '' then
      redis.call('ZREM', KEYS[1], ARGV[i])
    else
      redis.call('ZADD', KEYS[1], text(at + ARGV[i + 2]), ARGV[i])
    end
  end
  if KEYS[2] then
    mended = mended + redis.call('HDEL', KEYS[2], failing_name(KEYS[1], ARGV[i]))
  end
end
return mended
