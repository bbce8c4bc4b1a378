-- Lease the right to write the entries of the audit trail to a folder, and to take old ones out of Redis.
--
-- KEYS  audit_move
-- ARGV  process
--       lease       milliseconds
--       has_folder  1 when this process keeps the entries in a folder, else 0
-- Returns {the server's milliseconds, the last entry that is in some folder or ''}, or {}: another process has the right, or
-- one with a folder was there within the last days

local audit_move = unpack(KEYS)
local process, lease, has_folder = unpack(ARGV)
-- For so long, replicas without a folder drop nothing: the one with a folder may be down.
local FOLDER_COUNTS = 8 * DAY

local at = now()
-- Also while another process has the right: it may have no folder, and then drops nothing from now on.
if has_folder == '1' then
  redis.call('HSET', audit_move, 'folder_till', text(at + FOLDER_COUNTS))
end
local owner, till, folder_till = unpack(redis.call('HMGET', audit_move, 'owner', 'till', 'folder_till'))
if owner and owner ~= process and at < tonumber(till) and tonumber(till) <= at + lease then
  return {}
end
if has_folder ~= '1' and folder_till and at < tonumber(folder_till) then
  return {}
end
redis.call('HSET', audit_move, 'owner', process, 'till', text(at + lease))
return { at, redis.call('HGET', audit_move, 'moved') or '' }
