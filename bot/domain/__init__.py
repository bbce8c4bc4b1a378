"""What an approval is and who may decide it. Pure: no Redis, no Slack, no loop, no environment."""
