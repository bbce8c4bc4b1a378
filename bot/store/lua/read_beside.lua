-- Read what is kept about the run of a new record beside it. What is not plain text was not written by a bot, and is left out.
--
-- KEYS  vouched  for whom keys of the HTTP API say that the agent acts
--       changes of each call, …
-- Returns {people, for each call the one to which somebody asked for changes, or ''}

local vouched = unpack(KEYS)
local FIRST_CALL = 2

local function plain(text)
  return text and not string.find(text, '[^ -~]') and text or nil
end

local people, found = {}, {}
for _, person in ipairs(try('SMEMBERS', vouched) or {}) do
  append(people, plain(person))
end
for i = FIRST_CALL, #KEYS do
  append(found, plain(try('GET', KEYS[i])) or '')
end
return { people, found }
