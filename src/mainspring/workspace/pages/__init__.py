"""Pages: a workspace's documents.

A page has a title, a type, front matter, a body, its provenance and a timeline. People and runs
write pages; integrations import them. Search is by full text, by title similarity and, when an
embedding model is configured, by meaning.
"""
