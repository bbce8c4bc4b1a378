-- Read what is kept about the run of a new record beside it.
--
-- KEYS  vouched  for whom keys of the HTTP API say that the agent acts
--       changes of each call, …
-- Returns {people, for each call the one to which somebody asked for changes, or ''}

local vouched = unpack(KEYS)
local FIRST_CALL = 2

local found = {}
for i = FIRST_CALL, #KEYS do
  append(found, try('GET', KEYS[i]) or '')
end
return { redis.call('SMEMBERS', vouched), found }
