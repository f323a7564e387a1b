"""The sandbox: one process for one script, and nothing else.

``pool.py`` hands processes out, ``process.py`` is one of them as the worker sees it, and
``bootstrap.js`` is the trusted half inside it. Processes are started by ``launcher.py``, a
small process of its own, so that the large worker never forks; ``confine.py`` is what a
child does to itself before it becomes Deno, and ``walls.py`` says in words what holds.

The script reaches the world through its standard streams only. Behind them stands the
worker, which asks the gate; there is no network, no file and no environment to take.
"""
