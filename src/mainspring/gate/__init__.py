"""The gate: the one door between an automation and everything it can affect.

Each call goes through the same stages in the same order: find the capability, ask
whether a grant covers these arguments, check them against the schema, see that there is
money left, decide between doing it now and holding it for a person, perform it, check
the result, settle what it cost, and record the call. Handlers know none of this.

Secrets are put in place here, at the last moment and only where they may stand. The
only code that opens a connection to the outside lives here too, and it dials the very
address that it has judged.

This is the only room that calls a capability's handler.
"""
