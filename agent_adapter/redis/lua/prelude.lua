-- This file stands before each script.
--
-- Bodies and decisions are passed through as plain text, because cjson would turn [] into {} and 64-bit integers into floats.
-- Keys that only the record knows (its waiters, its pauses) are built from the namespace's prefix, so they have its hash tag too.
--
-- When a script ends with an error, Redis undoes nothing. Examples are a key of another type, or a command that this user may
-- not run. So the write that completes a change comes last, as one command, and the caller can repeat the script after an
-- error. Two writes come first, because they must not be lost: that a run went on, and that a standing approval was revoked.

-- Durations are milliseconds. TIME gives seconds and microseconds.
local SECOND = 1000
local MICROSECONDS = 1000
local DAY = 86400000

-- How many wake-ups a stream keeps. A reader that misses one finds its work in a set of owed work, or in the record.
local WAKE_UPS_KEPT = 1000

-- Prefix of fields that end with the name of a process that waits for the end. That of one that follows each decision is 'f:'.
local WAITS = 'w:'

-- Prefix of fields that end with the index of an action: what became of it.
local OUTCOME = 'outcome:'

local function now()
  local time = redis.call('TIME')
  return time[1] * SECOND + math.floor(time[2] / MICROSECONDS)
end

-- Say which run of which server this is, and of which history: a promotion begins a new one. '' where that may not be asked.
local function server_identity()
  local server, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
  if type(server) ~= 'string' or type(replication) ~= 'string' then
    return ''
  end
  local run, history = string.match(server, 'run_id:(%x+)'), string.match(replication, 'master_replid:(%x+)')
  return run and history and run .. ':' .. history or ''
end

local function text(number)
  return string.format('%.0f', number)
end

-- Give since when this server answers, as bots have noted in `server`. What another one accepted last may be lost. One that
-- they have not met yet answers since now; 0 where none was replaced, or it does not say which one it is.
local function answers_since(prefix, at)
  local known, since = redis.call('HGET', prefix .. 'server', 'id'), redis.call('HGET', prefix .. 'server', 'since')
  local own = (known or '') ~= '' and server_identity() or ''
  return own ~= '' and own ~= known and at or tonumber(since or 0)
end

local function append(list, ...)
  for _, value in ipairs({ ... }) do
    list[#list + 1] = value
  end
end

-- Return the agent of a record, or of a process.
local function agent_of(id)
  return string.match(id, '^[^.]*')
end

-- Call a command on one of several keys. Returns nil if the key has another type, so that a damaged key affects no other record.
local function try(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then
    if string.find(answer.err, 'WRONGTYPE', 1, true) then
      return nil
    end
    return redis.call(...)
  end
  return answer
end

-- While a bot lives, its last sign of life is at most this old.
local LONGEST_SILENCE = 15000

-- Return the milliseconds that a key still lives. Its value is its full lifetime, so a clock that was set back adds nothing.
local function time_left(key)
  local left, given = redis.call('PTTL', key), tonumber(redis.call('GET', key) or 0)
  if left > given then
    redis.call('PEXPIRE', key, given)
    return given
  end
  return math.max(0, left)
end

-- Return the field of failed work: the set that the work is owed in, and the record.
local function failing_field(set, id)
  return string.match(set, '[^:]+$') .. ':' .. id
end

-- Note that a card must be drawn again, and wake the processes that draw. They listen on the channel `wake`.
local function queue_drawing(undrawn, id, at)
  redis.call('ZADD', undrawn, text(at), id)
  redis.call('PUBLISH', (string.gsub(undrawn, '%w+$', 'wake')), id)
end

-- Have a record looked at, so that its next due time is computed again. LT: something may already be due earlier.
local function queue_look(due, id, at)
  redis.call('ZADD', due, 'LT', text(at), id)
end

-- Return the processes that wait for a record (`WAITS`), or only those that follow each decision ('f:'). A process of
-- another agent is not woken.
local function processes_of(req, id, who)
  local found, before = {}, who .. agent_of(id) .. '.'
  for _, field in ipairs(redis.call('HKEYS', req)) do
    if string.sub(field, 1, #before) == before then
      found[#found + 1] = string.sub(field, #who + 1)
    end
  end
  return found
end

-- Wake those of these processes that still live, and tell those that wait for the end how it stands.
local function wake_processes(req, prefix, id, who)
  local status = who == WAITS and redis.call('HGET', prefix .. 'card:' .. id, 'status') or ''
  for _, process in ipairs(processes_of(req, id, who)) do
    try('XADD', prefix .. 'replies:' .. process, 'NOMKSTREAM', 'MAXLEN', '~', WAKE_UPS_KEPT, '*', 'id', id, 'status', status)
  end
end

-- Call a command on every key of a record.
local function on_keys_of(id, prefix, command, ...)
  local req, its_pauses = prefix .. 'req:' .. id, prefix .. 'pause:' .. agent_of(id) .. '.'
  for digest in string.gmatch(redis.call('HGET', req, 'pauses') or '', '%S+') do
    -- If a pause was asked again, its key leads to the newer record.
    if try('GET', its_pauses .. digest) == id then
      redis.call(command, its_pauses .. digest, ...)
    end
  end
  redis.call(command, req, ...)
  redis.call(command, prefix .. 'card:' .. id, ...)
  redis.call(command, prefix .. 'run:' .. id, ...)
end

-- How long the keys of an ended record are kept.
local KEPT_UNRESUMED = 30 * DAY
local KEPT_RESUMED = 7 * DAY

-- Owe the run of an ended record to a worker: at once, or after a head start for a living process that waits for it.
-- Returns whether it is owed: only a run with a continuation that nobody has resumed.
local function queue_run(unresumed, req, prefix, id, at)
  local head_start, resumed = unpack(redis.call('HMGET', req, 'head_start', 'resumed'))
  if not head_start or resumed then
    return false
  end
  -- Nothing forces an agent to write a number there.
  local later = tonumber(head_start) or 0
  local due = at
  for _, process in ipairs(processes_of(req, id, WAITS)) do
    if redis.call('EXISTS', prefix .. 'replies:' .. process) == 1 then
      due = at + later
      break
    end
  end
  redis.call('ZADD', unresumed, text(due), id)
  return true
end

-- What waits for whom. A circle is everybody who may decide a record together: its people, user groups and channels, joined by
-- commas. Each circle has one list of its records by deadline, so an entry costs the same for one person and for twenty. Each of
-- the people, groups and channels has a set of the circles that it is in. A circle of one has no need of that.
--
-- The records are read beside a list, so an entry too many does no harm, and one too few would hide a record. So entries
-- are added before a record changes, and removed after it. What is past its deadline by a day is removed in passing. Lists and
-- sets are kept for longer than any deadline that is still ahead.
local WAITING, CIRCLES = 'waiting:', 'circles:'

local function add_waiting(prefix, id, circles, deadline, at)
  for circle in string.gmatch(circles, '%S+') do
    local list = prefix .. WAITING .. circle
    try('ZREMRANGEBYSCORE', list, '-inf', text(at - DAY))
    try('ZADD', list, text(deadline), id)
    redis.call('PEXPIRE', list, text(KEPT_UNRESUMED))
    for entry in string.gmatch(string.find(circle, ',', 1, true) and circle or '', '[^,]+') do
      try('SADD', prefix .. CIRCLES .. entry, circle)
      redis.call('PEXPIRE', prefix .. CIRCLES .. entry, text(KEPT_UNRESUMED))
    end
  end
end

-- The bots take old entries out of it. The time is that of the server. `seq` counts the entries, so that one
-- that is missing shows.
local function write_audit(audit, event, id, ...)
  local seq = redis.call('INCR', audit .. '_seq')
  redis.call('XADD', audit, '*', 'event', event, 'id', id, 'seq', text(seq), ...)
end
