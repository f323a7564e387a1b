"""Recipes: definitions that others can install.

A recipe is a package on a shelf, the codex. Installing it brings it into one workspace
as an install; upgrading compares what the recipe now says with what the people there
have changed; recovering brings back what was removed by mistake.

A recipe comes from outside, so it is trusted with nothing by itself. What it may call,
which hosts it may reach and what it may spend are shown to the person who installs
it, and an upgrade that asks for more waits until somebody has agreed to exactly that.

``package`` reads and judges what comes from outside, ``compiling`` makes definitions of it,
``entities`` says how each kind of thing is made and rebuilt, ``codex`` installs, upgrades and
takes back, ``starters`` is the shelf that comes with the house. ``carrying`` is the same for
whole workspaces, as files, and ``plugins`` judges integrations of others.
"""
