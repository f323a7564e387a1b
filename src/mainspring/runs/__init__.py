"""Runs: firings become runs, and runs become results.

The runs table is the queue and the truth. Dispatch writes a run together with the
definition and the grants it will use; a worker claims it under a lease and walks its
steps; each finished step is recorded before the next begins. Waking a worker is only a
hint, because the claim is one statement that gives a run to one holder.

Every write of a worker carries its fencing token, so whoever lost the lease can change
nothing any more. Rescue puts a run back and never runs it; a run that keeps killing
its workers ends as ``dead`` with its evidence and stands in nobody's way.

This is the only room that calls an action's handler.
"""
