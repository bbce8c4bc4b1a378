"""Lua of the bot's side: one verb per file."""
