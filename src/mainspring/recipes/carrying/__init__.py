"""Whole workspaces as files: a folder that can be kept in Git, read by people, and brought back.

Each thing is a file of its own under a name that follows from what it is called, so that two
folders can be compared line by line. What belongs to one place alone stays there: ids are
written as references to other files, and secrets by their names. A folder that comes back in is
the work of strangers: all of it is judged before any of it is stored.
"""
