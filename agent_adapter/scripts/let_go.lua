-- Owe a run to nobody any more, because its record ended without an answer to resume with.
--
-- KEYS  1 req  2 card  3 unresumed  4 audit
-- ARGV  1 id  2 prefix

if redis.call('ZREM', KEYS[3], ARGV[1]) == 1 and redis.call('EXISTS', KEYS[1]) == 1 then
  retire(KEYS[1], KEYS[2], ARGV[2], UNTAKEN)
  audit(KEYS[4], now(), 'let_go', ARGV[1])
end
