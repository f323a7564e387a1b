"""The REST interface: routes under ``/api/v1``.

``app`` assembles the application. ``auth`` authenticates: every route needs a caller unless it is
marked public. ``request_bodies`` parses requests and ``json_answers`` serializes responses;
``paging`` paginates lists; ``problems`` maps every error to a problem document. ``serve`` runs the
server. Each module of ``routes`` covers one resource and calls the packages below: it has no
business rules.
"""
