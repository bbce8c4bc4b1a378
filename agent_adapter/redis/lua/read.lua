-- Read both halves of a record at one moment, in one answer. They are no KEYS, because who runs it may only read them.
--
-- ARGV  req, card
-- Returns {fields of req, fields of card, the server's milliseconds}

local req, card = unpack(ARGV)

return read_record(req, card, now())
