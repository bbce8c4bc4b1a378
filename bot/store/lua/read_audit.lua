-- Read the entries of the audit trail that are about one record.
--
-- KEYS  audit
-- ARGV  id
--       first  number of an entry, with a '(' before it to begin behind it
--       last   number of an entry
--       count  how many entries to look at
-- Returns {number of the last entry that was looked at, '' at the end, number, fields, …}

local audit = unpack(KEYS)
local id, first, last, count = unpack(ARGV)

local entries = redis.call('XRANGE', audit, first, last, 'COUNT', count)
local found = { #entries == tonumber(count) and entries[#entries][1] or '' }
for _, entry in ipairs(entries) do
  local fields = entry[2]
  for i = 1, #fields, 2 do
    if fields[i] == 'id' and fields[i + 1] == id then
      append(found, entry[1], fields)
    end
  end
end
return found
