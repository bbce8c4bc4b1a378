-- Have failed work tried again, as if it had never failed. Its entry stays, with a count of 0: a bot that succeeds
-- removes it, and then the notice in the record, which an operator may not write.
--
-- KEYS  undrawn, due, failing
-- ARGV  id
-- Returns 1 | 0: no work about this record had failed

local undrawn, due, failing = unpack(KEYS)
local id = unpack(ARGV)
local at, released = now(), 0

for _, owed in ipairs({ undrawn, due }) do
  local field = failing_field(owed, id)
  local reason = string.match(redis.call('HGET', failing, field) or '', '^[1-9]%d* %d+ (.*)$')
  if reason then
    redis.call('HSET', failing, field, '0 ' .. text(at) .. ' ' .. reason)
    if owed == undrawn then
      queue_drawing(undrawn, id, at)
    else
      redis.call('ZADD', due, text(at), id)
    end
    released = 1
  end
end
return released
