"""Players without an endpoint of their own: MCP hosts, and people at a terminal."""
