-- Put the agent's name before the digest in keys that are written without it, some keys at a time.
--
-- KEYS  due  names the slot
-- ARGV  prefix
--       cursor  where to continue, 0 at first
-- Returns where to continue, 0 at the end

local due = unpack(KEYS) -- luacheck: ignore due
local prefix, cursor = unpack(ARGV)
local LOOK_AT = 1000

local found = redis.call('SCAN', cursor, 'COUNT', LOOK_AT)
for _, key in ipairs(found[2]) do
  local kind, digest = '', ''
  if string.sub(key, 1, #prefix) == prefix then
    kind, digest = string.match(string.sub(key, #prefix + 1), '^(%a+):([^.]*)$')
  end
  if kind == 'pause' or kind == 'thread' then
    -- Both lead to an id, which begins with the agent's name.
    local agent = string.match(try('GET', key) or '', '^[^.]+')
    if not agent or redis.call('RENAMENX', key, prefix .. kind .. ':' .. agent .. '.' .. digest) == 0 then
      redis.call('DEL', key)
    end
  end
end
return found[1]
