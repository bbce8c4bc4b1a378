-- Read both halves of a record at one moment, in one answer.
--
-- KEYS  req, card
-- Returns {fields of req, fields of card, the server's milliseconds}

local req, card = unpack(KEYS)

return read_record(req, card, now())
