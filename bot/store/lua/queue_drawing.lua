-- Have the card of a record drawn.
--
-- KEYS  undrawn, wake
-- ARGV  id

local undrawn, wake = unpack(KEYS)
local id = unpack(ARGV)

queue_drawing(undrawn, wake, id, now())
