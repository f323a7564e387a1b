"""The MCP interface: capabilities as tools, over HTTP at ``/mcp`` and over stdio.

It makes no access decisions: the gate lists the tools of a caller and executes the calls, as for
every other interface. The MCP library is imported for the first client, because it is large and
most installations start without one.
"""
