"""The MCP client: transports, one session with a server, and what its tools return.

``sdk`` opens a session with the official library over ``http_transport`` or ``stdio``.
``program_pool`` keeps local programs running between calls. Which server and which token are
decided in ``connections.mcp_servers``.
"""
