"""Artifacts: files that a run makes for people to keep or to fetch.

A file has a row in the database and its bytes in a blob store: a folder (``folder``) or an
S3-compatible service (``s3``). The bytes are written first and the row commits with the
record of the call (``save``), so a row always has its bytes; bytes without a row are swept
up later (``expiry``). ``rows`` reads them, ``links`` signs addresses for those who cannot
sign in.

Who may see one is said by its visibility:

* ``private``: only whoever signs in. No link to it is made, and none is honoured.
* ``workspace``: the members. One of them may make a link and hand it on.
* ``shared``: as ``workspace``, and the run that saved it is given a link to send along.

A link shows one file until it expires. It lives for at most a week.
"""
