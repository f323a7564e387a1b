"""Where the bytes of artifacts are stored: a folder or an S3-compatible service.

``blob_stores.open_blobs`` picks one by the configured URL; ``s3`` signs and sends requests.
The rows of artifacts, and the interface that both implement, are in ``workspace.artifacts``.
"""
