"""Actions: what a step of a plan may name.

An action reads its rendered config and does one thing: wait, build an object, walk
nested steps over a list, tell somebody, call a capability. It is handed a context and
nothing else. Through that context it reaches the gate, and only so does it reach
anything outside the run.

An action knows nothing of attempts, timeouts, budgets or leases: the run around it
decides those. A name in a plan that is no action but is a capability is a direct call
of that capability, so no capability needs an action wrapped round it by hand.
"""
