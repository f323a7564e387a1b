"""MCP connections: external servers whose tools a workspace may use.

``rows`` stores addresses and health, ``sign_ins`` pending OAuth sign-ins, and ``tool_rows`` the
servers' tools.
"""
