-- Change a record, if its card is still as the caller read it and it is not too late.
--
-- KEYS  req, card, undrawn, due, unresumed, standing, audit
-- ARGV  id, prefix
--       seen      the version of the card as it was read, or '*' for a change that is only entries: no record has to be there
--       version   its version from now on, a name that nothing else has: after a failover, two histories have two names
--       till      when it is too late, in milliseconds, or '' for never
--       drawn     1 to have the card drawn, else 0
--       looked    when something is due, in milliseconds; 'now' computes it again; ''
--       wakes     'w:' for all who wait for the record, 'f:' for those that follow each decision, or ''
--       runs      when the record ends: 1 if its run is owed to a worker then, else 0; or ''
--       circles   for whom it waits: from now on, or until now when it ends
--       deadline  until when it waits for them
--       kept      milliseconds for which a record that has ended, and whose card says so, is kept from now on; or ''. What is due
--                 after its end is in `looked`
--       then lists of words, each after the number of its words: fields of the agent's side that have to say the same,
--       fields and their values, fields that go, lists of people that have it (`asked:` or `decided:`), standing approvals that
--       begin and their milliseconds, those that end, each entry of the audit trail
-- Returns nothing; or {req, card, milliseconds}, the record as it is, when nothing was changed: fields are name, value, …
--
-- A value is '= text', or '@n text' for the time, n milliseconds later, before a text. '+' before it adds a line.

local req, card, undrawn, due, unresumed, standing, audit = unpack(KEYS)
local id, prefix, seen, version, till, drawn, looked, wakes, runs, circles, deadline, kept = unpack(ARGV)
local FIRST_LIST, FIRST_ENTRY, ANYTHING = 13, 7, '*'

local at = now()
local lists, i = {}, FIRST_LIST
while i <= #ARGV do
  append(lists, { unpack(ARGV, i + 1, i + ARGV[i]) })
  i = i + ARGV[i] + 1
end
local judged, fields, gone, mine, begun, ended = unpack(lists)

local is_late = till ~= '' and at >= tonumber(till)
local is_noted = seen == ANYTHING
local known = redis.call('HGET', card, 'version') or ''
if known == version then
  -- It is sent again, because its answer was lost.
  return
end
local is_same = is_noted or redis.call('EXISTS', req) == 1 and known == seen
for j = 1, #judged, 2 do
  local field, said = judged[j], judged[j + 1]
  is_same = is_same and redis.call('HEXISTS', req, field) == (said == '' and 0 or 1)
    and (said == '' or said == ANYTHING or redis.call('HGET', req, field) == said)
end
if is_late or not is_same then
  return { redis.call('HGETALL', req), redis.call('HGETALL', card), at }
end

local function add_line(lines, line)
  return lines and lines .. '\n' .. line or line
end

local function value(given)
  local later, after = string.match(given, '^@(%-?%d+)(.*)$')
  if later then
    return text(at + later) .. after
  end
  return string.sub(given, 3)
end

-- The newest records that a person asked for (`asked:`) or decided (`decided:`).
local MINE_KEPT = 1000

for j = 2, #fields, 2 do
  local line = string.match(fields[j], '^%+(.*)$')
  fields[j] = line and add_line(redis.call('HGET', card, fields[j - 1]), value(line)) or value(fields[j])
end
if drawn == '1' then
  queue_drawing(undrawn, id, at)
end
if kept ~= '' then
  redis.call('ZREM', due, id)
  -- A record that is owed to a worker stays until the worker takes it.
  if not redis.call('ZSCORE', unresumed, id) then
    on_keys_of(id, prefix, 'PEXPIRE', kept)
  end
end
if looked ~= '' then
  queue_look(due, id, looked == 'now' and at or tonumber(looked))
end
for j = 1, #begun, 2 do
  redis.call('ZADD', standing, text(at + begun[j + 1]), begun[j])
end
if #ended > 0 then
  redis.call('ZREM', standing, unpack(ended))
end
if runs == '1' then
  queue_run(unresumed, req, prefix, id, at)
elseif runs == '0' then
  redis.call('ZREM', unresumed, id)
elseif circles ~= '' then
  add_waiting(prefix, id, circles, tonumber(deadline), at)
end
for j = FIRST_ENTRY, #lists do
  local event, words = lists[j][1], { unpack(lists[j], 2) }
  for k = 2, #words, 2 do
    words[k] = value(words[k])
  end
  write_audit(audit, event, id, unpack(words))
end
for _, list in ipairs(mine) do
  -- What is listed already only moves.
  if try('ZADD', prefix .. list, text(at), id) == 1 then
    redis.call('ZREMRANGEBYRANK', prefix .. list, 0, -1 - MINE_KEPT)
    redis.call('PEXPIRE', prefix .. list, text(KEPT_UNRESUMED))
  end
end
if #gone > 0 then
  redis.call('HDEL', card, unpack(gone))
end
if not is_noted then
  redis.call('HSET', card, 'version', version, unpack(fields))
end
-- Last, because the server writes first to the client that it woke last. So the answer leaves before a bot is woken to draw.
if wakes ~= '' then
  wake_processes(req, prefix, id, wakes)
end
for circle in string.gmatch(runs ~= '' and circles or '', '%S+') do
  try('ZREM', prefix .. WAITING .. circle, id)
end
