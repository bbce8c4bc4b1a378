-- Fix, before the first drawing, what will judge every click; and decide what a sticky approval covers.
--
-- KEYS  1 req  2 card  3 due  4 audit  5 undrawn  6 wake  7 unresumed  8 sticky
-- ARGV  1 id  2 number of actions  3 the policy's deadline in milliseconds from publication, or ''
--       4 1 when something happens before the deadline, else 0  5 prefix
--       6 how many actions may be covered, then of each: index, id of the record that the approval was given in, index
--         of the action there, who gave it, decision, what is kept of this use
--       then the fields of the admission and their values
-- Returns 'admitted' | 'known' | 'unknown'

local at = now()
local created, deadline = unpack(redis.call('HMGET', KEYS[1], 'created', 'deadline'))
if not created then
  return 'unknown'
end
if redis.call('HEXISTS', KEYS[2], 'status') == 1 then
  return 'known'
end
deadline = tonumber(deadline)
if ARGV[3] ~= '' then
  deadline = math.min(deadline, created + ARGV[3])
end
local fields = 7 + 6 * ARGV[6]
redis.call('HSET', KEYS[2], 'status', 'pending', 'deadline', text(deadline), unpack(ARGV, fields))
local policy = redis.call('HGET', KEYS[2], 'policy')
audit(KEYS[4], at, 'admitted', ARGV[1], 'policy', policy)

local function use(id, index, kept)
  local card = ARGV[5] .. 'card:' .. id
  local till, left, ended = unpack(try('HMGET', card,
    'sticky_until:' .. index, 'sticky_left:' .. index, 'sticky_ended:' .. index) or {})
  local withdrawn = redis.call('HEXISTS', KEYS[1], 'withdraw') == 1
  if not till or ended or at >= tonumber(till) or at >= deadline or withdrawn then
    return false
  end
  local uses = redis.call('HGET', card, 'sticky_uses:' .. index)
  redis.call('HSET', card, 'sticky_uses:' .. index, (uses and uses .. '\n' or '') .. text(at) .. ' ' .. kept)
  redis.call('HINCRBY', card, 'sticky_left:' .. index, -1)
  audit(KEYS[4], at, 'sticky_used', id, 'index', index, 'for', ARGV[1])
  if tonumber(left) == 1 then
    redis.call('HSET', card, 'sticky_ended:' .. index, text(at) .. ' uses')
    redis.call('ZREM', KEYS[8], id .. ':' .. index)
    audit(KEYS[4], at, 'sticky_ended', id, 'index', index, 'by', 'uses')
  end
  owe(KEYS[5], KEYS[6], id, at)
  return true
end

local open = tonumber(ARGV[2])
for i = 7, fields - 1, 6 do
  local index, id, given_at, by, decision, kept = unpack(ARGV, i, i + 5)
  if use(id, given_at, kept) then
    redis.call('HSET', KEYS[2], 'd:' .. index, decision, 't:' .. index, 'sticky', 'at:' .. index, text(at))
    audit(KEYS[4], at, 'decided', ARGV[1], 'index', index, 'by', by, 'policy', policy, 'sticky', id .. ':' .. given_at)
    open = open - 1
  end
end
redis.call('HSET', KEYS[2], 'open', text(open))
if open == 0 then
  redis.call('HSET', KEYS[2], 'status', 'decided', 'settled', text(at))
  owe_run(KEYS[7], KEYS[1], ARGV[5], ARGV[1], at)
  notify(KEYS[1], ARGV[5], ARGV[1], 'w:')
else
  -- The clock reckons what comes first. LT: a withdrawal that was asked for before may be due already.
  redis.call('ZADD', KEYS[3], 'LT', text(ARGV[4] == '1' and at or deadline), ARGV[1])
  if open < tonumber(ARGV[2]) then
    notify(KEYS[1], ARGV[5], ARGV[1], 'f:')
  end
end
return 'admitted'
