"""The built web page (from ``web/`` in the checkout) and its loader."""
