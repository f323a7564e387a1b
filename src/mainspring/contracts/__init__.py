"""Contracts: the interfaces of plug-ins and the types that all packages share.

Nothing here has side effects: these are frozen dataclasses, small protocols and one tree of errors.
A capability, an action, a trigger, an event type and an integration are each one dataclass; a
registry is a set of them, built explicitly in ``mainspring.registry`` and never by importing a
module.

Every other package imports this one; this one imports none of them.
"""
