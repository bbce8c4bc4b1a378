-- Give leased work back: done, or to be done later. Work that came in since it was leased stays due.
--
-- KEYS  owed  undrawn, due or unresumed
--       failing
-- ARGV  succeeded  1 where this attempt succeeded, else 0
--       id, lease, milliseconds to wait or '' when done, …
-- Returns how many of them had failed before

local owed, failing = unpack(KEYS)
local succeeded = unpack(ARGV)
local FIRST, PER_WORK = 2, 3

local at, recovered = now(), 0
for i = FIRST, #ARGV, PER_WORK do
  local id, lease, again_in = unpack(ARGV, i, i + PER_WORK - 1)
  if tonumber(redis.call('ZSCORE', owed, id) or -1) == tonumber(lease) then
    if again_in == '' then
      redis.call('ZREM', owed, id)
    else
      redis.call('ZADD', owed, text(at + again_in), id)
    end
  end
  if succeeded == '1' then
    recovered = recovered + redis.call('HDEL', failing, failing_field(owed, id))
  end
end
return recovered
