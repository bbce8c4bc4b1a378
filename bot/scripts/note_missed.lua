-- Note that somebody tried to decide something of an open record and could not: its silence means nothing then.
--
-- KEYS  1 card

if redis.call('HGET', KEYS[1], 'status') == 'pending' then
  redis.call('HSETNX', KEYS[1], 'missed', text(now()))
end
