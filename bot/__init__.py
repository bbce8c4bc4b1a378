"""The deployed process: draws cards in Slack, takes decisions, keeps the record."""
