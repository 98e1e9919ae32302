"""Real MCP: agents served by the official SDK, and sessions with the MCP servers of others."""
