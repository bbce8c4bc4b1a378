-- Say whether people could answer all the time, and whether the time can be trusted.
--
-- KEYS  watched
-- ARGV  prefix
--       created  since when people could answer
-- Returns {since when a bot has been there without a gap, or 0, milliseconds since Slack last carried out a call of one,
-- milliseconds since this server answers, 1 if its clock may have been set since then, else 0}

local watched = unpack(KEYS)
local prefix, created = unpack(ARGV)

local at = now()
local since, heard = unpack(redis.call('HMGET', watched, 'since', 'heard'))
local is_set = clock_may_be_set(prefix, tonumber(created), at)
return { tonumber(since or 0), at - (heard or 0), at - answers_since(prefix, at), is_set and 1 or 0 }
