"""The codex: the shelf of recipes, and what is installed from it in each workspace.

``shelf`` finds recipes: those of the workspace, the starters that came with the house, and
what other workspaces share. ``needs`` finds out what has to be there first. ``applying`` makes
installs of it, ``upgrading`` brings them to the newest version, ``removing`` takes them away
and back, ``publishing`` puts a version on the shelf. ``comparing`` tells the changes of people
here from those of a recipe.

Whoever changes installs of a workspace holds its codex first, so that two who install or
upgrade at once do it one after the other.
"""
