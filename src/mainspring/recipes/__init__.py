"""Recipes: definitions that others can install.

A recipe is a package on a shelf, the codex. Installing it brings it into one workspace
as an install; upgrading compares what the recipe now says with what the people there
have changed; recovering brings back what was removed by mistake.

A recipe comes from outside, so it is trusted with nothing by itself. What it may call,
which hosts it may reach and what it may spend are shown to the person who installs
it, and an upgrade that asks for more waits until somebody has agreed to exactly that.

So far it holds ``plugins``: integrations of others.
"""
