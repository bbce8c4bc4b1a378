-- Stands before every script. Bodies and decisions pass through as opaque text: cjson would turn [] into {}
-- and 64-bit integers into floats. Keys that only the record knows (who waits, which pauses) are built from the
-- lane's prefix and share its hash tag with KEYS.
--
-- Redis takes back nothing of a script that ends with an error: a key of another type, a command that this user may not run.
-- So what makes a change true is written last, in one command, and whoever is told of the error can do it again. Only what
-- must not be missing is written first: that a run went on, that an approval for later calls was revoked.

local DAY = 86400000
local UNTAKEN = 30 * DAY
local TAKEN = 7 * DAY
-- What a wake-up tells of a card: decisions, when they were made, who agreed; in so many bytes at the most.
local ANSWER = { ['d:'] = true, ['at'] = true, ['by'] = true }
local MOST_TOLD = 4096

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function text(number)
  return string.format('%.0f', number)
end

local function append(list, ...)
  for _, value in ipairs({ ... }) do
    list[#list + 1] = value
  end
end

-- Call a command on one of several keys. Gives nil where the key is of another type: one damaged key stops no other record.
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

-- Give the fields of a card that say where its messages stand: `status`, `place:<n>`, `part:<n>`, and `lease:<n>` of messages
-- about which a call was begun. What is not plain text is left out, or nothing could be read of the others.
local function told_of(key)
  local kinds = { place = true, part = true, lease = true, status = true }
  local card, told = try('HGETALL', key) or {}, {}
  for i = 1, #card, 2 do
    if kinds[string.match(card[i], '^%a+')] and not string.find(card[i] .. card[i + 1], '[^ -~]') then
      append(told, card[i], card[i + 1])
    end
  end
  return told
end

-- Tell whether the server's clock may have been set since this moment, so that less time has passed than it says. Bots note
-- what they notice (`clock`); until they do, their last sign of life (`bots`) seems older than one ever is.
local UNSEEN = 15000
local function may_have_stepped(prefix, since, at)
  local noted = tonumber(redis.call('GET', prefix .. 'clock') or 0)
  if noted >= since and noted <= at then
    return true
  end
  local seen = tonumber(redis.call('ZREVRANGE', prefix .. 'bots', 0, 0, 'WITHSCORES')[2])
  return seen ~= nil and seen >= since - UNSEEN and at - seen > UNSEEN
end

-- Give the milliseconds that a lease still holds, and whether that is a new lease, because the clock was set: back, which
-- lengthens no lease, or forward, which ends none. Who holds it and lives has the time to renew it.
local function left_of(till, lease, prefix, at)
  local left = till - at
  if left > lease or (left <= 0 and till > 0 and may_have_stepped(prefix, till - lease, at)) then
    return lease, true
  end
  return left, false
end

-- Give the milliseconds that a key still lives which holds how many it was given: a clock that was set back adds none.
local function life_of(key)
  local left, given = redis.call('PTTL', key), tonumber(redis.call('GET', key) or 0)
  if left > given then
    redis.call('PEXPIRE', key, given)
    return given
  end
  return math.max(0, left)
end

-- Name failed work: the set that it is owed in, and the record.
local function failing_name(set, id)
  return string.match(set, '[^:]+$') .. ':' .. id
end

-- Say that a card must be drawn anew, and wake whoever draws.
local function owe(undrawn, wake, id, at)
  redis.call('ZADD', undrawn, text(at), id)
  redis.call('XADD', wake, 'MAXLEN', '~', 1000, '*', 'id', id)
end

-- Give the answer to tell with a wake-up, or '': of a card that is decided, which is final, while it is small. One text,
-- since its reader pays for each field: a line for each name and each value, none of which holds a line break.
local function answer_of(card)
  local fields, told, decided = redis.call('HGETALL', card), {}, false
  for i = 1, #fields, 2 do
    if ANSWER[string.sub(fields[i], 1, 2)] then
      told[#told + 1] = fields[i]
      told[#told + 1] = fields[i + 1]
    elseif fields[i] == 'status' then
      decided = fields[i + 1] == 'decided'
    end
  end
  local answer = decided and table.concat(told, '\n') or ''
  return #answer <= MOST_TOLD and answer or ''
end

-- Wake the processes that still live: who waits for this record ('w:'), or only who follows each decision ('f:').
local function notify(req, prefix, id, who)
  local answer
  for _, field in ipairs(redis.call('HKEYS', req)) do
    if string.sub(field, 1, 2) == who then
      answer = answer or (who == 'w:' and answer_of(prefix .. 'card:' .. id) or '')
      try('XADD', prefix .. 'replies:' .. string.sub(field, 3), 'NOMKSTREAM', 'MAXLEN', '~', 1000, '*',
        'id', id, 'answer', answer)
    end
  end
end

-- Let a record's keys end after this time.
local function retire(req, card, prefix, milliseconds)
  local id = string.sub(req, #prefix + #'req:' + 1)
  for digest in string.gmatch(redis.call('HGET', req, 'pauses') or '', '%S+') do
    -- A pause that is asked anew leads to its newer record.
    if try('GET', prefix .. 'pause:' .. digest) == id then
      redis.call('PEXPIRE', prefix .. 'pause:' .. digest, milliseconds)
    end
  end
  redis.call('PEXPIRE', req, milliseconds)
  redis.call('PEXPIRE', card, milliseconds)
  redis.call('PEXPIRE', prefix .. 'run:' .. id, milliseconds)
end

-- Let a record's keys stay until they are retired again.
local function persist(req, card, prefix)
  local id = string.sub(req, #prefix + #'req:' + 1)
  for digest in string.gmatch(redis.call('HGET', req, 'pauses') or '', '%S+') do
    if try('GET', prefix .. 'pause:' .. digest) == id then
      redis.call('PERSIST', prefix .. 'pause:' .. digest)
    end
  end
  redis.call('PERSIST', req)
  redis.call('PERSIST', card)
  redis.call('PERSIST', prefix .. 'run:' .. id)
end

-- Note what a worker needs to go on with the run of a record.
local function entrust(req, run, continuation, needs, head_start)
  redis.call('HSET', run, 'continuation', continuation)
  redis.call('HSET', req, 'needs', needs, 'head_start', head_start)
end

-- Owe the run of an ended record to a worker: at once, or after a head start for whoever waits and still lives.
-- Answers whether it is owed: a run with a continuation that nobody has resumed.
local function owe_run(unresumed, req, prefix, id, at)
  local head_start, resumed = unpack(redis.call('HMGET', req, 'head_start', 'resumed'))
  if not head_start or resumed then
    return false
  end
  local due = at
  for _, field in ipairs(redis.call('HKEYS', req)) do
    if string.sub(field, 1, 2) == 'w:' and redis.call('EXISTS', prefix .. 'replies:' .. string.sub(field, 3)) == 1 then
      due = at + head_start
      break
    end
  end
  redis.call('ZADD', unresumed, text(due), id)
  return true
end

local function audit(stream, at, event, id, ...)
  redis.call('XADD', stream, 'MINID', '~', text(at - 90 * DAY), '*', 'event', event, 'id', id, ...)
end
