"""The REST surface: the house as routes under ``/api/v1``.

``app`` puts the routes together. ``door`` decides who comes in: everybody needs a token
unless a route says openly that it is public. ``bodies`` reads what was sent and ``answers``
writes what goes back; ``paging`` cuts long lists; ``problems`` shows every error as the one
problem document. ``serve`` listens. Each module of ``routes`` knows one noun and calls the
rooms below: it holds no rule of its own.
"""
