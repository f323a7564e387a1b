"""Outbound: everything that dials out, and nothing else does.

- ``egress``: guarded HTTP. A request goes to approved hosts and public addresses only.
- ``mail``: SMTP to the operator's server, IMAP to a member's mailbox.
- ``models``: model providers (registry, client, prices) and the capability ``llm_complete``.
- ``mcp``: the MCP client, over streamable HTTP and over the pipes of a local program.
- ``object_storage``: artifacts in a folder or in an S3-compatible service.
- ``http_fetch``, ``web_push``, ``telemetry``: one capability and two senders.

Accounts, OAuth and tokens are above, in ``connections``; grants and budgets in ``gate``.
"""
