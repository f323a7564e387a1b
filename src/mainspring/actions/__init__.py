"""Actions: what a step of a plan can run.

An action receives its rendered config and does one thing: wait, build an object, run nested steps
over a list, notify people, call a capability. It only receives a context. Through that context it
reaches the gate, which is its only way to anything outside the run.

An action knows nothing of attempts, timeouts, budgets or leases: the run handles those. A step that
names a capability instead of an action calls it directly, so no capability needs a hand-written
action.
"""
