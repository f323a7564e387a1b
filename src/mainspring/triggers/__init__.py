"""Triggers: moments become firings.

Each kind is one module with one ``TRIGGER``: the shape of its config, which the
validator judges definitions by, and the shape of the payload it delivers. There are
three and no more; a run by hand has no trigger.

- ``schedule`` watches the clock: a cron expression in a time zone, with a policy for
  the moments that were missed;
- ``webhook`` waits for a call from outside and maps its body to inputs;
- ``event`` listens to the log for facts of one type that pass a filter.

``watch`` keeps all of them, side by side, in one process or in many.

Every firing carries a key that is computed from its moment, so that two watchers of
one trigger cannot start two runs.
"""
