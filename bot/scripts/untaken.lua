-- Tell where the messages of records stand that have ended and whose run nobody has resumed, some keys at a time. No set
-- holds them: they wait for nothing but their agent.
--
-- KEYS  1 due: names the slot
-- ARGV  1 prefix  2 where to go on, 0 at first
-- Returns {where to go on, 0 at the end, id, fields, id, fields, …}; fields as in `standing`

local LOOK_AT = 1000
local before = ARGV[1] .. 'card:'
local found = redis.call('SCAN', ARGV[2], 'MATCH', '*:card:*', 'COUNT', LOOK_AT)
local answer = { found[1] }
for _, key in ipairs(found[2]) do
  if string.sub(key, 1, #before) == before then
    local id = string.sub(key, #before + 1)
    local status = try('HGET', key, 'status')
    if status and status ~= 'pending' and status ~= 'refused' and try('HEXISTS', ARGV[1] .. 'req:' .. id, 'resumed') == 0 then
      append(answer, id, told_of(key))
    end
  end
end
return answer
