"""Integrations with external systems, one folder each.

Each folder is a plug-in: a manifest with its identity and hosts, the capabilities it adds, and the
events it publishes. All folders have the same file names.

An integration implements the interfaces of ``contracts`` and imports nothing else of the
application. Integrations do not know each other, and no other package imports them: the application
discovers them and adds them to the registry.
"""
