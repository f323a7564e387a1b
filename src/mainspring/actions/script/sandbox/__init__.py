"""The sandbox: one process per script.

``pool`` provides processes, ``process`` is one of them as the worker sees it, and ``bootstrap.js``
is the trusted part inside it. Processes are started by ``launcher``, a small separate process, so
that the large worker never forks; ``confinement`` is what a child does to itself before it becomes
Deno, and ``isolation`` describes the isolation in force.

The script communicates through its standard streams only, with the worker, which calls the gate; it
has no network, no files and no environment.
"""
