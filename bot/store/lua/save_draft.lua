-- Keep what a person has filled into a form, unless it was changed since it was read.
--
-- KEYS  draft
-- ARGV  before  what was read, '' for nothing
--       after   what to keep, '' for nothing
--       kept    milliseconds
-- Returns 'saved' | 'changed'

local draft = unpack(KEYS)
local before, after, kept = unpack(ARGV)

if (redis.call('GET', draft) or '') ~= before then
  return 'changed'
end
if after == '' then
  redis.call('DEL', draft)
else
  redis.call('SET', draft, after, 'PX', kept)
end
return 'saved'
