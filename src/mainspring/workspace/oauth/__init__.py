"""OAuth 2.1 authorization server for MCP clients.

A client that only knows the MCP server's URL registers, requests authorization, and a signed-in
member decides how much to grant: a scope maps to a role, at most editor and at most the member's
own. The client gets an access token that expires and is only valid at the MCP server, and a
single-use refresh token.

``scopes`` maps scopes to roles. ``clients`` registers clients, ``authorization`` stores requests,
codes and consents, and ``token_exchange`` issues tokens. Codes, refresh tokens and client secrets
are stored as hashes only.
"""
