"""Accounts of integrations: one member's, or shared by the workspace.

``account_connections`` finds the connection that a call uses, ``http`` sends its requests and
``tokens`` refreshes their access tokens. ``sign_in`` sends members to a provider and takes them
back, and ``service`` is where people connect, test and disconnect.
"""
