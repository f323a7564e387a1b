"""What a draft is made of: its wording, its envelope, its files and who has agreed to it.

A draft is kept in ``drafts`` and performed in ``sending``; this folder is what both of them
work with. Nothing here sends anything.
"""
