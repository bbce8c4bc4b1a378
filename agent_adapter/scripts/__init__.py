"""Lua of the agent's side: one verb per file. `prelude.lua` stands before every script, the bot's too."""
