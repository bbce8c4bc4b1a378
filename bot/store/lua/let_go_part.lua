-- End the lease of one message of a card without a word about what was sent. The next lease of it is a takeover.
--
-- KEYS  card
-- ARGV  part
--       owner  of the lease

local card = unpack(KEYS)
local part, owner = unpack(ARGV)

local holder, first = string.match(redis.call('HGET', card, 'lease:' .. part) or '', '^(%S+) %d+ (%d+)$')
if holder == owner then
  redis.call('HSET', card, 'lease:' .. part, owner .. ' 0 ' .. first)
end
