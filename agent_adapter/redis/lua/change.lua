-- Run commands together, if what they rely on is still so.
--
-- KEYS  the keys that they write, …
-- ARGV  id, prefix
--       since  the server's milliseconds when the caller read: a clock that was set back since has not reached them
--       before  until when it may run, by the server's milliseconds; else ''
--       lease  milliseconds, for a new claim: it waits while somebody may hold one that this server has lost; else ''
--       looks  how many of the following lists are what is looked at; the others are the commands
--       then lists of words, each after the number of its words
-- Returns {1 if they ran, else 0, the server's milliseconds, and for how many a claim is unsure, {what is found, …}}
--
-- A look is what it has to find, and a command that reads: '' nothing, '= text', '~ text' nothing or what begins so,
-- '*' anything, '?' whatever there is, '!' the same, looked at only where nothing runs. What has another type is not found.
-- A word after the name of a key is '= text', or '@n text' for the time, n milliseconds later, before a text.

local id, prefix, since, before, lease, looks = unpack(ARGV, 1, 6)
local FIRST_LIST = 7

local at = now()
-- Whoever holds a claim renews it within a lease. What was asked since this server answers has none that could be lost.
local unsure = 0
if lease ~= '' then
  local created, answers = tonumber(redis.call('HGET', prefix .. 'req:' .. id, 'created') or 0), answers_since(prefix, at)
  unsure = created <= answers and math.max(0, math.min(tonumber(lease), answers + lease - at)) or 0
end

local function words_of(command)
  for i = 3, #command do
    local later, after = string.match(command[i], '^@(%-?%d+)(.*)$')
    command[i] = later and text(at + later) .. after or string.sub(command[i], 3)
  end
  return unpack(command)
end

local function is_as_expected(kind, said, found)
  if kind == '=' then
    return found and found .. '' == said
  elseif kind == '~' then
    return not found or string.sub(found, 1, #said) == said
  end
  return kind == '?' or kind == '!' or (kind == '*') == (found ~= false)
end

local is_so, found, commands = unsure == 0 and at >= tonumber(since) and at < (tonumber(before) or math.huge), {}, {}
local i = FIRST_LIST
while i <= #ARGV do
  local words = { unpack(ARGV, i + 1, i + ARGV[i]) }
  i = i + ARGV[i] + 1
  if #found < tonumber(looks) then
    local expected = table.remove(words, 1)
    local kind = string.sub(expected, 1, 1)
    local is_due = kind ~= '!' or not is_so
    found[#found + 1] = is_due and try(words_of(words)) or false
    is_so = is_so and is_as_expected(kind, string.sub(expected, 3), found[#found])
  else
    commands[#commands + 1] = words
  end
end
if is_so then
  for _, command in ipairs(commands) do
    redis.call(words_of(command))
  end
end
return { is_so and 1 or 0, at, unsure, found }
