-- Keep everybody quiet for a while.
--
-- KEYS  1 held
-- ARGV  1 milliseconds

if life_of(KEYS[1]) < tonumber(ARGV[1]) then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[1])
end
