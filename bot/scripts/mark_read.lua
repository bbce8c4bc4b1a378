-- Note how many pages of an action a person was shown.
--
-- KEYS  1 card
-- ARGV  1 index  2 person  3 fingerprint and pages

if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('HSET', KEYS[1], 'seen:' .. ARGV[1] .. ':' .. ARGV[2], ARGV[3])
end
