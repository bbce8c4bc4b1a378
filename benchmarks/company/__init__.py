"""A company for an hour: agents, bots, a Redis Cluster, a Slack and people, with what goes wrong on a day."""
