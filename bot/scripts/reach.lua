-- Note steps of a record's schedule whose time has come, and have its card drawn: times pass in what it shows.
--
-- KEYS  1 card  2 undrawn  3 wake  4 audit
-- ARGV  1 id  2.. number of a step, what is said about it or '' when it is passed over, number, …
-- Returns how many were noted now: none twice, and none after the end

local at = now()
local status, deadline = unpack(redis.call('HMGET', KEYS[1], 'status', 'deadline'))
if status ~= 'pending' or at >= tonumber(deadline) then
  return 0
end
local noted = 0
for i = 2, #ARGV, 2 do
  local is_said = ARGV[i + 1] ~= ''
  if redis.call('HSETNX', KEYS[1], 'reached:' .. ARGV[i], is_said and text(at) or '-') == 1 then
    noted = noted + 1
    if is_said then
      local number = redis.call('HINCRBY', KEYS[1], 'remarks', 1)
      redis.call('HSET', KEYS[1], 'remark:' .. number, ARGV[i + 1])
      audit(KEYS[4], at, 'reached', ARGV[1], 'step', ARGV[i])
    end
  end
end
owe(KEYS[2], KEYS[3], ARGV[1], at)
return noted
