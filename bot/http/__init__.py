"""The bot's one port: Slack's route, the HTTP API, health and metrics."""
