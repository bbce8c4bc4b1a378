-- Note that somebody tried to decide about an open record and could not. Silence then approves nothing of it.
--
-- KEYS  card

local card = unpack(KEYS)

if redis.call('HGET', card, 'status') == 'pending' then
  redis.call('HSETNX', card, 'missed', text(now()))
end
