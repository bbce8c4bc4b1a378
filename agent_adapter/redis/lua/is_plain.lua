-- Say whether a record was asked without encryption: what is written into it later is then not encrypted either.
--
-- KEYS  req
-- ARGV  mark  the beginning of an encrypted text
-- Returns 1 when its question is stored as plain text
--         | 0 when its question is encrypted, or there is no such record

local req = unpack(KEYS)
local mark = unpack(ARGV)

local body = redis.call('HGET', req, 'body')
return body and string.sub(body, 1, #mark) ~= mark and 1 or 0
