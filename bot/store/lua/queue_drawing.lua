-- Have the card of a record drawn.
--
-- KEYS  undrawn
-- ARGV  id

local undrawn = unpack(KEYS)
local id = unpack(ARGV)

queue_drawing(undrawn, id, now())
