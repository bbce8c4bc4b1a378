-- Have the card of a record drawn.
--
-- KEYS  1 undrawn  2 wake
-- ARGV  1 id

owe(KEYS[1], KEYS[2], ARGV[1], now())
