"""What the bot does without being asked: drawing cards, deadlines, watching Slack, Redis and the policy file."""
