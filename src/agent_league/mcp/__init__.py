"""MCP on the official SDK: the server side of our agents, and client sessions with other MCP servers."""
