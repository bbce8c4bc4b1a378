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
local changes = { 'deadline', text(deadline), unpack(ARGV, fields) }
local policy
for i = fields, #ARGV, 2 do
  policy = ARGV[i] == 'policy' and ARGV[i + 1] or policy
end

-- Tell whether an earlier approval holds for one more of these actions.
local withdrawn = redis.call('HEXISTS', KEYS[1], 'withdraw') == 1
local spent = {}
local function holds(id, index)
  local till, left, ended = unpack(try('HMGET', ARGV[5] .. 'card:' .. id,
    'sticky_until:' .. index, 'sticky_left:' .. index, 'sticky_ended:' .. index) or {})
  local name = id .. ':' .. index
  if not till or ended or at >= tonumber(till) or at >= deadline or withdrawn or tonumber(left) == spent[name] then
    return false
  end
  spent[name] = (spent[name] or 0) + 1
  return true
end

local function use(id, index, kept)
  local card = ARGV[5] .. 'card:' .. id
  local uses, left = unpack(redis.call('HMGET', card, 'sticky_uses:' .. index, 'sticky_left:' .. index))
  local used = { 'sticky_uses:' .. index, (uses and uses .. '\n' or '') .. text(at) .. ' ' .. kept,
    'sticky_left:' .. index, text(left - 1) }
  owe(KEYS[5], KEYS[6], id, at)
  audit(KEYS[4], at, 'sticky_used', id, 'index', index, 'for', ARGV[1])
  if tonumber(left) == 1 then
    redis.call('ZREM', KEYS[8], id .. ':' .. index)
    audit(KEYS[4], at, 'sticky_ended', id, 'index', index, 'by', 'uses')
    append(used, 'sticky_ended:' .. index, text(at) .. ' uses')
  end
  redis.call('HSET', card, unpack(used))
end

local covered = {}
for i = 7, fields - 1, 6 do
  local index, id, given_at, by, decision = unpack(ARGV, i, i + 4)
  if holds(id, given_at) then
    covered[#covered + 1] = i
    append(changes, 'd:' .. index, decision, 't:' .. index, 'sticky', 'at:' .. index, text(at))
  end
end
local open = ARGV[2] - #covered
append(changes, 'open', text(open), 'status', open == 0 and 'decided' or 'pending')
if open == 0 then
  append(changes, 'settled', text(at))
  owe_run(KEYS[7], KEYS[1], ARGV[5], ARGV[1], at)
else
  -- The clock reckons what comes first. LT: a withdrawal that was asked for before may be due already.
  redis.call('ZADD', KEYS[3], 'LT', text(ARGV[4] == '1' and at or deadline), ARGV[1])
end
audit(KEYS[4], at, 'admitted', ARGV[1], 'policy', policy)
for _, i in ipairs(covered) do
  local index, id, given_at, by, _, kept = unpack(ARGV, i, i + 5)
  use(id, given_at, kept)
  audit(KEYS[4], at, 'decided', ARGV[1], 'index', index, 'by', by, 'policy', policy, 'sticky', id .. ':' .. given_at)
end
redis.call('HSET', KEYS[2], unpack(changes))
if open == 0 then
  notify(KEYS[1], ARGV[5], ARGV[1], 'w:')
elseif #covered > 0 then
  notify(KEYS[1], ARGV[5], ARGV[1], 'f:')
end
return 'admitted'
