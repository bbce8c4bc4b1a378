-- Read both halves of a record at one moment, in one answer.
--
-- KEYS  req, card
-- Returns {fields of req, fields of card, the server's milliseconds}; fields are name, value, name, value, …

local req, card = unpack(KEYS)

return { redis.call('HGETALL', req), redis.call('HGETALL', card), now() }
