"""The accounts that members have in outside systems, each a connection of an integration.

``rows`` keeps whose they are and how they fare, ``clients`` as whom this installation is known
to a provider, and ``sign_ins`` whoever has been sent to sign in and has not come back yet.
"""
