-- Read both halves of a record at one moment, in one answer.
--
-- KEYS  1 req  2 card
-- Returns {fields of req, fields of card, the server's milliseconds}; fields are name, value, name, value, …

return { redis.call('HGETALL', KEYS[1]), redis.call('HGETALL', KEYS[2]), now() }
