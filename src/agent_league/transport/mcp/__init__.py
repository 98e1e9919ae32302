"""Real MCP on the path of the bare calls, served by the official SDK."""
