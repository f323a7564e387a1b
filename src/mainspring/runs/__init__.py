"""Runs: queue, execution and history.

The runs table is the queue and the source of truth. ``dispatch`` writes a run together with the
definition and the grants it will use; a ``worker`` claims it under a lease and executes its steps;
each finished step is recorded before the next begins. Waking a worker is only a hint, because the
claim is one statement that gives a run to one owner.

Every write of a worker carries its fencing token, so a worker that lost the lease can change
nothing any more. Rescue returns a run to the queue and never executes it; a run that keeps killing
its workers ends as ``dead`` with the evidence and blocks nothing.

This is the only package that calls an action's handler.
"""
