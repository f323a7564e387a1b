"""The store: Postgres and nothing else.

``embedded`` owns a Postgres server of our own (``binaries`` finds its programs,
``account`` says who runs it, ``ownership`` keeps a second owner out, ``cluster`` makes its
files, ``leash`` ties its life to ours); ``source`` chooses between that server and an
outside one; ``database`` is the pool every room is handed; ``migrate`` brings the tables
up to date; ``wake`` tells other processes that something is new; ``batch`` lets many
tasks share one commit; ``events`` is the log of facts, ``partitions`` cuts what grows.

Only this room opens a connection to Postgres. What a table means is the business of the
room that owns it; its SQL stands there.
"""
