"""Members' accounts at external providers, each one a connection of an integration.

``rows`` stores ownership and health, ``clients`` the OAuth clients of this installation, and
``sign_ins`` the pending OAuth sign-ins.
"""
