"""Lua of the agent's side, one script per file. Parts of `prelude.lua` are put before every script, also the bot's."""
