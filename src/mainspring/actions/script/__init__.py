"""Scripts: one TypeScript file as one step of a plan.

A script runs in a process of its own that can reach nothing: no file, no network, no other
process. What it wants done it asks the worker for, over the pipes it was started with, and
the worker asks the gate as the run. ``talk`` is that conversation, ``voice`` keeps what the
script says, ``builds`` takes the types away once, and ``sandbox`` is the process itself.
"""
