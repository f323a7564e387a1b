"""Boards that are linked to something outside: filled from there, and read-only there.

A link names what is read, and a recipe which dataset it fills and when (``links``, ``refresh``). It
is read over the connection of the member who made the link, and rows are written like all rows of
boards. ``adapters`` are what integrations declare as linkable.
"""
