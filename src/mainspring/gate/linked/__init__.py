"""Boards that are linked to something outside: they are filled from there, and only read there.

A link names what is read, a recipe which dataset it fills and when. What is read goes over the
connection of whoever made the link, and what is written is written as boards write everything.
"""
