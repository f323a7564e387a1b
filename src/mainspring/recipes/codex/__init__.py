"""The codex: the recipe catalog and its installs.

``catalog`` finds recipes: the workspace's own, the bundled starters, and those that other
workspaces share. ``dependencies`` plans what must be installed first. ``install`` creates installs,
``upgrade`` (with ``upgrade_preview``) brings them to the newest version, ``uninstall`` removes and
recovers them, and ``publish`` adds a version to the catalog.

Changes of a workspace's installs take its codex lock first, so concurrent installs and upgrades are
serialized.
"""
