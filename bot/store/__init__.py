"""The record in Redis, from the bot's side: typed methods over the scripts."""
