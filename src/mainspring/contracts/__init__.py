"""Contracts: the shapes a plug-in fills and the words every room shares.

Nothing here does anything to the outside: these are frozen values, small protocols
and one tree of errors. A capability, an action, a trigger, an event type and an
integration are each one dataclass; a registry is a set of them, built by hand in
``wiring.py`` and never by importing a module.

Every other room imports this one; this one imports none of them.
"""
