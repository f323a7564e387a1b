"""Artifacts: files that a run makes for people to keep or to fetch.

A file has a row in the database (``rows``) and its bytes in a blob store (``blobs``). The bytes are
written first and the row commits with the record of the call (``save``), so a row always has its
bytes; bytes without a row are deleted later (``expiry``). ``links`` signs addresses for people who
cannot sign in. The stores are in ``outbound.object_storage``.

Its visibility says who may see it:

* ``private``: only people who sign in. No link to it is made, and none is honoured.
* ``workspace``: the members. One of them may make a link and hand it on.
* ``shared``: as ``workspace``, and the run that saved it is given a link to send along.

A link shows one file until it expires. It lives for at most a week.
"""
