-- Tell whoever waits for a record why nothing happens with it, or (with '') that something does again.
--
-- KEYS  1 req  2 card
-- ARGV  1 id  2 sentence  3 prefix

local known = redis.call('HGET', KEYS[2], 'notice')
if redis.call('EXISTS', KEYS[1]) == 0 or known == ARGV[2] or (not known and ARGV[2] == '') then
  return
end
if ARGV[2] == '' then
  redis.call('HDEL', KEYS[2], 'notice')
else
  redis.call('HSET', KEYS[2], 'notice', ARGV[2])
end
notify(KEYS[1], ARGV[3], ARGV[1], 'w:')
