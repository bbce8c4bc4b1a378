-- Take, renew or (with a lease of 0) give back the right to run one thread. It expires if nobody renews it.
--
-- KEYS  thread
-- ARGV  owner
--       lease      milliseconds
--       renews     1 for who holds it already, else 0: a failover can have lost that
--       unsettled  milliseconds in which others may still renew theirs after a failover
--       known      identities of the servers that this process knows, separated by spaces; '' for not looking at them
-- Returns {'mine'} | {'claimed', milliseconds for which another owner still holds it}
-- | {'unsure', milliseconds until it is known whether somebody holds it} | {'moved', the identity of this server}

local thread = unpack(KEYS)
local owner, lease, renews, unsettled, known = unpack(ARGV)
local is_given_back = lease == '0'

local holder = redis.call('GET', thread)
if holder and holder ~= owner then
  return { 'claimed', math.max(1, redis.call('PTTL', thread)) }
end
local refusal = not holder and renews == '0' and not is_given_back and why_unsure(known, unsettled)
if refusal then
  return refusal
end
if is_given_back then
  redis.call('DEL', thread)
else
  redis.call('SET', thread, owner, 'PX', lease)
end
return { 'mine' }
