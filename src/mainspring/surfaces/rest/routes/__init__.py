"""Routes, one module for each noun.

Each has ``routes(rooms)``, which returns a router made by ``ground.router``: that gives it
the prefix, the tag and the check that the caller is known.
"""
