"""The record in Redis, from the agent's side: connections, typed methods over the scripts, and the scripts."""
