"""Connections to model providers: connect, test, price and list them.

``capabilities`` is what people use; ``from_settings`` makes the connections that the operator's
settings name. Requests to models are sent in ``outbound.models``.
"""
