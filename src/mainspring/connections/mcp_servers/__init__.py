"""MCP servers that a workspace is connected to, and the tools that they offer it.

``client.McpClientPool`` opens sessions with the connection's own token, ``oauth`` signs members in
and ``tokens`` refreshes. ``tool_discovery`` lists and pins tools, ``tool_registry`` offers those
that were agreed to as capabilities, and ``service`` and ``capabilities`` are what people use.
"""
