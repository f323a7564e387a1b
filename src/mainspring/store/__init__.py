"""The store: access to Postgres.

``embedded`` runs our own Postgres server (``postgres_programs`` finds its programs and the user
that runs it, ``data_folder`` prevents a second owner, ``cluster`` creates its files,
``parent_watch`` ends it with its parent process); ``database_source`` chooses between that server
and an external one; ``database`` is the connection pool that every package uses, and
``workspace_database`` the same pool under row-level security; ``migrate`` and ``downgrade`` change
the schema; ``wakeups`` sends LISTEN/NOTIFY hints; ``group_commit`` lets many tasks share one
commit; ``events`` is the event log, ``audit`` the audit log, and ``partitions`` manages time-based
partitions; ``backup``, ``snapshot`` and ``restore`` move whole databases.

Only this package opens a connection to Postgres. The SQL for a table is in the package that owns
it.
"""
