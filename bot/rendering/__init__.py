"""From the record to what Slack shows, and from what Slack hands back to arguments. Pure."""
