-- Scripts run inside Redis: Lua 5.1 with what Redis offers, and with what the prelude defines before each of them.
std = {
  read_globals = {
    'KEYS', 'ARGV', 'redis',
    'ipairs', 'math', 'string', 'table', 'tonumber', 'type', 'unpack',
  },
}
max_line_length = 130

local PRELUDE = {
  'DAY', 'KEPT_UNRESUMED', 'KEPT_RESUMED', 'WAITS', 'OUTCOME', 'LONGEST_SILENCE',
  'server_identity', 'answers_since', 'now', 'text', 'append', 'try', 'agent_of', 'time_left', 'failing_field',
  'queue_drawing', 'queue_look', 'queue_run', 'wake_processes', 'on_keys_of', 'WAITING', 'write_audit', 'add_waiting',
}
files['**/lua/*.lua'] = { read_globals = PRELUDE }
-- Each script takes what it needs of it.
files['**/lua/prelude.lua'] = { read_globals = {}, ignore = { '211' } }
