"""Our side of MCP servers, on the SDK's client: sessions that come back, one list of tools, queues, sorts of faults.

Importing a module from here loads the SDK; nothing that a bare agent imports at its start does so.
"""
