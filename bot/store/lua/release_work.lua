-- Have failed work tried again, as if it had never failed.
--
-- KEYS  undrawn, due, failing
-- ARGV  id
-- Returns 1 | 0: no work about this record had failed

local undrawn, due, failing = unpack(KEYS)
local id = unpack(ARGV)

local drawings = redis.call('HDEL', failing, failing_field(undrawn, id))
local looks = redis.call('HDEL', failing, failing_field(due, id))
if drawings == 1 then
  queue_drawing(undrawn, id, now())
end
if looks == 1 then
  redis.call('ZADD', due, text(now()), id)
end
return math.max(drawings, looks)
