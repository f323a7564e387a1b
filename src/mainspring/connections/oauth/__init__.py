"""OAuth as a client: requests to authorization servers, and one token refresh at a time.

``authorization_server.AuthorizationServerClient`` exchanges codes and refresh tokens through the
egress guard; ``renewal_locks.TokenRenewalLocks`` lets one process refresh a token.
"""
