"""Scripts: one TypeScript file as one step of a plan.

A script runs in a process of its own without access to files, the network or other processes. It
sends requests to the worker over its pipes, and the worker calls the gate as the run.
``conversation`` is that protocol, ``output_recorder`` stores the script's output, ``runner`` builds
and runs scripts, and ``sandbox`` is the process itself.
"""
