"""A place in a league for somebody who can't be called: an MCP host, a person at a terminal."""
