-- End a record that knows less than one of its messages shows, because Redis went back to an older state. That message
-- stays as it is.
--
-- KEYS  req, card, undrawn, unresumed, audit
-- ARGV  id, prefix
--       part
--       code
--       reason
--       mark   of it, or ''
-- Returns 'ended' | 'unknown'

local req, card, undrawn, unresumed, audit = unpack(KEYS)
local id, prefix, part, code, reason, mark = unpack(ARGV)

if redis.call('EXISTS', req) == 0 then
  return 'unknown'
end
local shown = redis.call('HGET', card, 'part:' .. part)
if shown then
  redis.call('HSET', card, 'part:' .. part, (string.gsub(shown, '%S+$', '=')))
end
refuse_rewound(req, card, undrawn, unresumed, audit, prefix, id, code, reason, mark)
return 'ended'
