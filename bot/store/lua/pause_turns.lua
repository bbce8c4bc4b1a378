-- Give out no turns for a while.
--
-- KEYS  held
-- ARGV  pause  milliseconds

local held = unpack(KEYS)
local pause = unpack(ARGV)

if time_left(held) < tonumber(pause) then
  redis.call('SET', held, pause, 'PX', pause)
end
