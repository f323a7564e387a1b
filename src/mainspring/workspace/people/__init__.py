"""People: accounts, authentication and membership.

A person is one row of ``users`` with a workspace of their own. They sign in with a password
(``passwords``) or a single-use link (``sign_in_links``); browsers and terminals hold sessions
(``sessions``). Membership is a row of ``members``; new members join by an invitation that only its
addressee can use. ``sign_in`` combines these and rate-limits failed attempts; ``administration``
has the administrator's capabilities.
"""
