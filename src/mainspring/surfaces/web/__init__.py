"""The web page: what was built from ``web/`` in the checkout, and where it is served."""
