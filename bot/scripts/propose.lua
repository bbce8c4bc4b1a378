-- Keep an edit that another rule is about, in the place of an earlier one and of its votes. The call as it was asked
-- stays open beside it.
--
-- KEYS  1 card  2 undrawn  3 wake  4 audit
-- ARGV  1 id  2 index  3 person  4 name of the proposal  5 how many people it takes  6 version of the rules
--       7 the proposal  8 the place where it is asked as well, or ''  9 what is said about it
-- Returns 'recorded' | 'repeat': it is this very proposal | 'taken': the action is decided | 'closed'

local at = now()
local id, index, person, name, quorum, policy, proposal, place, remark = unpack(ARGV)
local status, deadline, decided, known, votes = unpack(redis.call('HMGET', KEYS[1],
  'status', 'deadline', 'd:' .. index, 'proposal:' .. index, 'votes:' .. index))
if decided then
  return 'taken'
elseif status ~= 'pending' or at >= tonumber(deadline) then
  return 'closed'
elseif known and string.match(known, '^%S+') == name then
  return 'repeat'
end

local left = {}
for line in string.gmatch(votes or '', '[^\n]+') do
  local voter, position = string.match(line, '^(%S+) (%S+) ')
  if voter ~= person and string.sub(position, 1, #'proposal:') ~= 'proposal:' then
    left[#left + 1] = line
  end
end
owe(KEYS[2], KEYS[3], id, at)
audit(KEYS[4], at, 'proposed', id, 'index', index, 'by', person, 'policy', policy, 'proposal', name)
if #left > 0 then
  redis.call('HSET', KEYS[1], 'votes:' .. index, table.concat(left, '\n'))
else
  redis.call('HDEL', KEYS[1], 'votes:' .. index)
end
if place ~= '' then
  local number, found = 0, redis.call('HGET', KEYS[1], 'place:0')
  while found and found ~= place do
    number = number + 1
    found = redis.call('HGET', KEYS[1], 'place:' .. number)
  end
  redis.call('HSET', KEYS[1], 'place:' .. number, place)
end
local said = redis.call('HINCRBY', KEYS[1], 'remarks', 1)
redis.call('HSET', KEYS[1], 'remark:' .. said, remark,
  'proposal:' .. index, table.concat({name, quorum, policy, text(at), proposal}, ' '))
return 'recorded'
