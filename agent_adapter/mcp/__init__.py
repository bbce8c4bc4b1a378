"""A gateway before an MCP server: people decide about its tool calls before they run."""
