"""Pages: what a workspace knows.

A page is a text with a title, a type, values in its front matter, and a record of where it
came from and what happened to it. People and runs write pages; integrations bring them in.
They are found by their words, by the likeness of their titles and, where the installation
has a model for it, by their meaning.
"""
