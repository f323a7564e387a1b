"""Handlers for the kinds of resources that recipes create."""
