"""Routes, one module for each resource.

Each has ``routes(services)``, which returns a router of ``surfaces.rest.router``: that adds the
prefix, the tag and the authentication check.
"""
