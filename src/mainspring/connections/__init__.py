"""Connections: a workspace's accounts and servers elsewhere, and what goes over them.

- ``accounts``: accounts of integrations (sign-in, tokens, health); ``accounts.service``.
- ``oauth``: authorization servers and token refresh, shared by accounts and MCP servers.
- ``mcp_servers``: MCP servers, their tools and what people agreed to; ``mcp_servers.service``.
- ``models``: connections to model providers; ``board_links``: boards filled from elsewhere.
- ``ingestion``, ``act_on_integration``: reads and writes of ``installed_integrations``.

The gate gives a handler its ``call_context``; ``preflight`` checks connections before a save.
"""
