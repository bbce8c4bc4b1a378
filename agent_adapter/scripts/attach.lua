-- Say that this process waits for a record.
--
-- KEYS  1 req
-- ARGV  1 process  2 1 when it wants to know of each decision, 0 when only of the end
-- Returns 1 | 0: no such record

if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
redis.call('HSET', KEYS[1], 'w:' .. ARGV[1], '1')
if ARGV[2] == '1' then
  redis.call('HSET', KEYS[1], 'f:' .. ARGV[1], '1')
end
return 1
