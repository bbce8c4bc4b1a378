"""The listeners for what Slack sends. The table of `table` says what each button and form does."""
