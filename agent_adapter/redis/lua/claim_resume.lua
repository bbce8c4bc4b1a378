-- Take, renew or (with a lease of 0) give back the right to resume a run. A bot looks at the record when the claim would
-- lapse, so that the card can say that the agent took the answer and did not go on.
--
-- KEYS  req, inbox
-- ARGV  id, prefix
--       owner
--       lease     milliseconds
--       grace     milliseconds after the deadline
--       is_read   1 to read the record with it, else 0
--       held      the fence of the claim for who holds it already, else ''
-- Returns {'mine', fence} | {'mine', fence, fields of req, fields of card, the server's milliseconds}
-- | {'claimed', milliseconds left} | {'unsure', milliseconds until it is known whether a holder lives}
-- | {'pending'} | {'consumed'} | {'unknown'} | {'damaged'}: a field that publishing writes is missing; fields are as in `read`

local req, inbox = unpack(KEYS)
local id, prefix, owner, lease, grace, is_read, held = unpack(ARGV)
local card, is_given_back = prefix .. 'card:' .. id, lease == '0'

local at = now()
local body, asked = redis.call('HEXISTS', req, 'body'), redis.call('HGET', req, 'deadline')
if body == 0 or not asked then
  return { redis.call('EXISTS', req) == 1 and 'damaged' or 'unknown' }
end
if redis.call('HEXISTS', req, 'resumed') == 1 then
  -- Who has used it up itself has lost nothing.
  local is_own = held ~= '' and redis.call('HGET', req, 'resumed_by') == owner
  return is_own and { 'mine', tonumber(held) } or { 'consumed' }
end
local status, deadline, lapsed = unpack(redis.call('HMGET', card, 'status', 'deadline', 'lapsed'))
if (not status or status == 'pending') and at <= (deadline or asked) + grace then
  return { 'pending' }
end
local holder, till, its_lease, fence = unpack(redis.call('HMGET', req, 'claim_by', 'claim_until', 'claim_for', 'fence'))
if is_given_back and holder ~= owner then
  -- Another one has it since, or Redis has lost it: nothing is left to give back.
  return { 'mine', tonumber(fence or 0) }
end
-- A process that held the claim and was too late does not go on, also when the next one has given it back. Where Redis has
-- lost the claim that is renewed, an older one is there.
if held ~= '' and holder and holder ~= owner and tonumber(fence or 0) >= tonumber(held) then
  return { 'claimed', 0 }
end
if holder and holder ~= owner then
  local left, is_new = lease_left(tonumber(till), tonumber(its_lease or lease), prefix, at)
  if is_new then
    redis.call('HSET', req, 'claim_until', text(at + left))
    return { 'unsure', left }
  elseif left > 0 then
    return { 'claimed', left }
  end
end
if holder ~= owner and held == '' then
  -- What was asked since this server answers has no claim that it could have lost.
  local unsure = unsure_for(prefix, tonumber(lease), at, tonumber(redis.call('HGET', req, 'created')))
  if unsure > 0 then
    return { 'unsure', unsure }
  end
end
local has_lapsed = lapsed and lapsed == fence
local is_renewed = holder == owner and (tonumber(till) or 0) > at
-- The bots know a claim that is renewed.
if has_lapsed or not (is_renewed or is_given_back) then
  note_for_bots(inbox, 'claimed', id)
end
if holder ~= owner or has_lapsed then
  -- By the clock, so that it is newer than a claim that Redis has lost.
  fence = text(math.max(tonumber(fence or 0) + 1, at))
  redis.call('HSET', req, 'fence', fence)
end
if is_given_back then
  redis.call('HSET', req, 'claim_until', '0')
else
  redis.call('HSET', req, 'claim_by', owner, 'claim_until', text(at + lease), 'claim_for', lease)
end
-- Nobody waits for a bot to know of a claim, but a card that says that it has lapsed is wrong now.
if has_lapsed then
  wake_bots(prefix, id)
end
fence = tonumber(fence)
if is_read == '0' then
  return { 'mine', fence }
end
return { 'mine', fence, redis.call('HGETALL', req), redis.call('HGETALL', card), at }
