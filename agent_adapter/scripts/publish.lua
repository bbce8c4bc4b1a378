-- Store an interrupt once, or find the record that already asks about its pauses.
--
-- KEYS  1 req  2 undrawn  3 wake  4 audit  5 run  6.. pause of each pause
-- ARGV  1 id  2 fingerprint  3 body  4 milliseconds to live  5 process that waits, or ''  6 prefix
--       7 pause digests, separated by spaces  8 id of the ended record that is asked again, or ''
--       9 continuation, or ''  10 what it needs  11 head start of whoever waits, in milliseconds
-- Returns {'created', id} | {'known', id} | {'mixed', id}: some pauses belong to that record, others do not

local found, missing
for i = 6, #KEYS do
  local owner = redis.call('GET', KEYS[i])
  if not owner or owner == ARGV[8] or redis.call('EXISTS', ARGV[6] .. 'req:' .. owner) == 0 then
    missing = true
  elseif found and found ~= owner then
    return { 'mixed', found }
  else
    found = owner
  end
end
if found then
  return { missing and 'mixed' or 'known', found }
end
if redis.call('EXISTS', KEYS[1]) == 1 then
  return { 'known', ARGV[1] }
end

local at = now()
owe(KEYS[2], KEYS[3], ARGV[1], at)
audit(KEYS[4], at, 'published', ARGV[1])
for i = 6, #KEYS do
  redis.call('SET', KEYS[i], ARGV[1])
end
if ARGV[9] ~= '' then
  entrust(KEYS[1], KEYS[5], ARGV[9], ARGV[10], ARGV[11])
end
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[1], 'w:' .. ARGV[5], '1')
end
redis.call('HSET', KEYS[1], 'body', ARGV[3], 'fingerprint', ARGV[2], 'pauses', ARGV[7], 'created', text(at),
  'deadline', text(at + ARGV[4]))
return { 'created', ARGV[1] }
