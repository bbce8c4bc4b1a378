"""Slack, as the bot calls it: the Web API, people, rate limits, Socket Mode, the manifest."""
