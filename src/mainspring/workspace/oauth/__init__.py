"""Clients that connect by themselves (OAuth 2.1).

A client that is given nothing but the address of the MCP server registers, asks for something,
and a member who is signed in says how much of it: a scope is a plain word for a role, and no
client is ever given more than an editor may do, or more than the member may. What it then holds
is an access token like any other, with an end, which works at the MCP server alone, and a
renewal token that works once.

``scopes`` and ``redirects`` decide about plain values. ``clients``, ``requests``, ``consents``
and ``exchange`` each keep their own tables. Nothing that lets anybody in is kept as it is: of
codes, renewal tokens and secrets there are hashes.
"""
