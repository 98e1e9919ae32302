"""The server side of MCP, on the official SDK, on the same path as direct calls."""
