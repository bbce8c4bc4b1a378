"""Claude Code and the Claude Agent SDK: people decide about each tool call before it runs."""
