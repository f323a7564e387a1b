"""Integrations: the outside world, one folder each.

A shelf beside the street. Each folder is a plug-in for one system: a manifest that says
who it is and which hosts it needs, the capabilities it adds, and the events it reports.
Folders look alike, so whoever has read one has read them all.

An integration fills the shapes of the contracts and imports nothing else of the house.
It does not know the other integrations, and no room knows it: the wiring lists the
shelf and puts what it finds into the registry.
"""
