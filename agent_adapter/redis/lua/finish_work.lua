-- Move owed work to another time, or out of its set, where it is still leased so. What came in since the lease stays due.
--
-- KEYS  owed  undrawn, due or unresumed
--       failing
-- ARGV  said  what `failing` says of what is moved; '-' when it does not fail any more; '' to change nothing there
--       id, lease ('' for a card that has to be drawn), milliseconds to wait or '' when done, …
-- Returns {how many were moved, how many had failed before}

local owed, failing = unpack(KEYS)
local said = unpack(ARGV)
local FIRST, PER_WORK = 2, 3

local at, moved, recovered = now(), 0, 0
for i = FIRST, #ARGV, PER_WORK do
  local id, lease, again_in = unpack(ARGV, i, i + PER_WORK - 1)
  if lease == '' then
    queue_drawing(owed, id, at)
  elseif tonumber(redis.call('ZSCORE', owed, id) or -1) == tonumber(lease) then
    moved = moved + 1
    if said ~= '' and said ~= '-' then
      redis.call('HSET', failing, failing_field(owed, id), said)
    end
    if again_in == '' then
      redis.call('ZREM', owed, id)
    else
      redis.call('ZADD', owed, text(at + again_in), id)
    end
  end
  if said == '-' then
    recovered = recovered + redis.call('HDEL', failing, failing_field(owed, id))
  end
end
return { moved, recovered }
