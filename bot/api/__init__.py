"""The HTTP API: what `agent_adapter` gives to Python, for every other language."""
