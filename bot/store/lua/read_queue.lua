-- Read what is known of the queue of a channel.
--
-- KEYS  queue, queued
-- Returns {milliseconds of the server, ids that joined it, its fields: name, value, …}

local queue, queued = unpack(KEYS)

return { now(), redis.call('SMEMBERS', queued), redis.call('HGETALL', queue) }
