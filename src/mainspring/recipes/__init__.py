"""Recipes: packages of definitions that others can install.

A recipe is published to the catalog (the codex). Installing it creates an install in one workspace;
upgrading merges the newer version with local changes; recovering restores what was uninstalled.

A recipe is untrusted. Its grants, hosts and costs are shown to the person who installs it, and an
upgrade that needs more waits for their consent.

``package`` reads and validates recipes, ``compiling`` turns them into definitions, ``entities``
creates and rebuilds each kind of resource, ``codex`` installs, upgrades and uninstalls, and
``starters`` has the bundled recipes. ``carrying`` exports and imports whole workspaces as files,
and ``plugins`` validates third-party integrations.
"""
