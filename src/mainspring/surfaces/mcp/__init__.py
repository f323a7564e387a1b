"""The MCP surface: capabilities as tools, over HTTP at ``/mcp`` and over stdin and stdout.

Nothing here decides what may be called: the gate says what a caller is offered and serves
the call, as it does for every other surface. The protocol's own library is imported when
the first client comes, because it is large and most installations start without one.
"""
