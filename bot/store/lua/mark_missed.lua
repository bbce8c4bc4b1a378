-- Note that somebody tried to decide about an open record and could not. Silence then approves nothing of it.
--
-- KEYS  card
-- Returns 'noted' | 'ended' | 'unknown'

local card = unpack(KEYS)

local status = redis.call('HGET', card, 'status')
if status == 'pending' then
  redis.call('HSETNX', card, 'missed', text(now()))
  return 'noted'
end
return status and 'ended' or 'unknown'
