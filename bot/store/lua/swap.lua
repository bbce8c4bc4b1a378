-- Change fields of a hash, if others still begin with the words that were read.
--
-- KEYS  hash
-- ARGV  kept  milliseconds for which the hash is kept from now on, or ''
--       read  how many of the next words are fields and how they begin, '' for those that have to be missing
--       then fields and what they say from now on: '' removes one, '@' is the server's milliseconds
-- Returns 1, or 0 when nothing was changed

local hash = unpack(KEYS)
local kept, read = unpack(ARGV)
local FIRST = 3

local written = FIRST + read
for i = FIRST, written - 1, 2 do
  local said = redis.call('HGET', hash, ARGV[i]) or ''
  if said ~= ARGV[i + 1] and (ARGV[i + 1] == '' or string.sub(said, 1, #ARGV[i + 1] + 1) ~= ARGV[i + 1] .. ' ') then
    return 0
  end
end
for i = written, #ARGV, 2 do
  local field, said = ARGV[i], ARGV[i + 1]
  if said == '' then
    redis.call('HDEL', hash, field)
  else
    redis.call('HSET', hash, field, said == '@' and text(now()) or said)
  end
end
if kept ~= '' then
  redis.call('PEXPIRE', hash, kept)
end
return 1
