-- Say that this process waits for a record.
--
-- KEYS  1 req
-- ARGV  1 process
-- Returns 1 | 0: no such record

if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
redis.call('HSET', KEYS[1], 'w:' .. ARGV[1], '1')
return 1
