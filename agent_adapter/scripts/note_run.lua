-- Note something about a run that is being resumed. The first note of a name stands.
--
-- KEYS  1 req  2 run
-- ARGV  1 name  2 text
-- Returns the note that stands, or '' when the run has gone on without the caller, or the record is gone

if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], 'resumed') == 1 then
  return ''
end
redis.call('HSETNX', KEYS[2], ARGV[1], ARGV[2])
return redis.call('HGET', KEYS[2], ARGV[1])
