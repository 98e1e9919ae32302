"""The client side of MCP, on the SDK: reconnecting sessions, a tool registry, call queues, kinds of failure.

Importing a module from here loads the SDK; an agent that is only called directly never does so.
"""
