"""Plug-ins of others: a beginning for a new integration, and the judge of every one.

The judge asks of a package from outside what the house asks of its own folders, tier by tier,
and says what is missing with a pointer into the manifest or the name of the capability.
"""
