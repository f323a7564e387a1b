"""Export and import of whole workspaces as a folder of files, suitable for Git.

Each resource is a file whose name follows from its own name, so that two folders can be compared
line by line. Local data is left out: ids are written as references to other files, and secrets by
name. An imported folder is untrusted: all of it is validated before any of it is stored.
"""
