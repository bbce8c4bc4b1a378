-- Do what follows from what an agent has noted in its inbox, and delete the notes. An agent says only that something happened
-- to a record of its own: what happened is read from the record.
--
-- KEYS  inbox, undrawn, due, unresumed, inboxes, audit
-- ARGV  agent, prefix
--       limit  how many notes to take
-- Returns {how many were taken, how many of them were refused, {for each decided run that was taken for the first time, how
-- many milliseconds after its decision and its traceparent or ''}}

local inbox, undrawn, due, unresumed, inboxes, audit = unpack(KEYS)
local agent, prefix, limit = unpack(ARGV)

local at = now()

-- Whether people can still decide about a record.
local function is_open(card)
  local status, deadline = unpack(try('HMGET', card, 'status', 'deadline') or {})
  return status == 'pending' and at < (tonumber(deadline) or at)
end

-- An agent can note the same thing without end. The trail has it once, so that nobody pushes out the entries of others.
-- `said` are the further fields of the entry, and `index` is of the call that it is about.
local function audit_once(card, event, id, index, said)
  local noted = 'noted:' .. event .. ':' .. (index or '')
  if try('HEXISTS', card, noted) ~= 1 then
    write_audit(audit, event, id, unpack(said or {}))
    try('HSET', card, noted, '1')
  end
end

-- What is done for each event: `said` are the fields of the note, and `wrote` is when it was written. `false` refuses it.
local follow = {}
local waits = {}

-- An agent may have written bytes there that nobody could read.
local TRACEPARENT = '^[%x-]+$'

-- An id is the name of an agent, a dot and a digest: `contract.identity`.
local LONGEST_ID = 73

function follow.published(id, _, card)
  queue_drawing(undrawn, id, at)
  audit_once(card, 'published', id)
end

function follow.withdraw_asked(id, req, card)
  if try('HEXISTS', req, 'withdraw') ~= 1 then
    return false
  end
  queue_look(due, id, at)
  audit_once(card, 'withdraw_asked', id)
end

function follow.claimed(id, req, card, _, wrote)
  local claimed, fence, resumed, traceparent = unpack(try('HMGET', req, 'claim_until', 'fence', 'resumed', 'traceparent') or {})
  local status, settled, lapsed = unpack(try('HMGET', card, 'status', 'settled', 'lapsed') or {})
  -- Only the first claim counts: a run that fails is claimed again.
  if status == 'decided' and tonumber(settled) and try('HSETNX', card, 'taken', text(wrote)) == 1 then
    append(waits, { math.max(0, wrote - settled), string.match(traceparent or '', TRACEPARENT) or '' })
  end
  if not resumed and (tonumber(claimed) or 0) > 0 then
    queue_look(due, id, claimed + 1)
  end
  -- The card says that another claim has lapsed.
  if lapsed and lapsed ~= fence then
    queue_drawing(undrawn, id, at)
  end
end

function follow.resumed(id, req, card)
  if try('HEXISTS', req, 'resumed') ~= 1 or is_open(card) then
    return false
  end
  redis.call('ZREM', unresumed, id)
  -- There is no claim that could lapse any more. A record with a standing approval stays due, because that ends on time.
  if try('HEXISTS', card, 'sticky_given') ~= 1 then
    redis.call('ZREM', due, id)
  end
  queue_drawing(undrawn, id, at)
  audit_once(card, 'resumed', id)
  on_keys_of(id, prefix, 'PEXPIRE', KEPT_RESUMED)
end

function follow.reported(id, req, card, said)
  local index = string.match(said.index or '', '^%d%d?%d?$')
  local kept = index and try('HGET', req, OUTCOME .. index)
  -- In JSON, a quotation mark inside of a text has a backslash before it. So this is the name of a field.
  -- An encrypted one is not readable here. The agent wrote both, so its note is as good.
  local outcome = kept and (string.match(kept, '"status":"(%l+)"') or said.outcome)
  if try('HEXISTS', card, 'd:' .. (index or '')) ~= 1 or (outcome ~= 'done' and outcome ~= 'failed') then
    return false
  end
  queue_drawing(undrawn, id, at)
  audit_once(card, 'reported', id, index, { 'index', index, 'outcome', outcome })
end

function follow.stalled(id)
  queue_drawing(undrawn, id, at)
end

function follow.continued(id, req, card)
  local status = try('HGET', card, 'status')
  if status and status ~= 'pending' and queue_run(unresumed, req, prefix, id, at) then
    on_keys_of(id, prefix, 'PERSIST')
  end
end

function follow.let_go(id, req, card)
  if try('HEXISTS', req, 'resumed') ~= 0 or is_open(card) then
    return false
  end
  audit_once(card, 'let_go', id)
  on_keys_of(id, prefix, 'PEXPIRE', KEPT_UNRESUMED)
end

local function take(said, wrote)
  local id, does = said.id or '', follow[said.event]
  local req, card = prefix .. 'req:' .. id, prefix .. 'card:' .. id
  local is_its_own = string.sub(id, 1, #agent + 1) == agent .. '.' and not string.find(id, '[^!-~]')
  if not does or not is_its_own or #id > LONGEST_ID or redis.call('EXISTS', req) == 0 then
    return false
  end
  return does(id, req, card, said, wrote)
end

local notes, numbers, refused = redis.call('XRANGE', inbox, '-', '+', 'COUNT', limit), {}, 0
for _, note in ipairs(notes) do
  local number, fields, said = note[1], note[2], {}
  for i = 1, #fields, 2 do
    said[fields[i]] = fields[i + 1]
  end
  -- An agent may write the number of its note, so it may lie in the future.
  local wrote = math.min(tonumber(string.match(number, '^%d+')), at)
  if take(said, wrote) == false then
    refused = refused + 1
  end
  append(numbers, number)
end
if #notes > 0 then
  redis.call('ZADD', inboxes, text(at), agent)
  -- An agent that says nothing for longer is found by its wake-up, or when a bot looks for all inboxes.
  redis.call('ZREMRANGEBYSCORE', inboxes, '-inf', text(at - 7 * DAY))
end
-- Last, so that nothing is lost if this script ends with an error.
if #notes < tonumber(limit) then
  redis.call('DEL', inbox)
else
  redis.call('XDEL', inbox, unpack(numbers))
end
return { #notes, refused, waits }
