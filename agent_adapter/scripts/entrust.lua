-- Give workers what they need to go on with a run that was asked about without it. The first one stands.
--
-- KEYS  1 req  2 card  3 run  4 unresumed
-- ARGV  1 id  2 prefix  3 continuation  4 what it needs  5 head start of whoever waits, in milliseconds
-- Returns 'entrusted' | 'known' | 'unknown'

if redis.call('EXISTS', KEYS[1]) == 0 then
  return 'unknown'
end
if redis.call('HEXISTS', KEYS[1], 'needs') == 1 then
  return 'known'
end
local status = redis.call('HGET', KEYS[2], 'status')
if status and status ~= 'pending' then
  redis.call('HSET', KEYS[1], 'head_start', ARGV[5])
  if owe_run(KEYS[4], KEYS[1], ARGV[2], ARGV[1], now()) then
    persist(KEYS[1], KEYS[2], ARGV[2])
  end
end
entrust(KEYS[1], KEYS[3], ARGV[3], ARGV[4], ARGV[5])
return 'entrusted'
