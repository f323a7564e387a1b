"""The workspace: what a group of people keeps.

Automations with their versions and states, the small values an automation remembers
from one run to the next, and the vault in which secrets sleep. A workspace is a wall:
every row carries its id, every index begins with it, and no question can be asked
without saying whose workspace it is about.

The rooms above decide when something happens; this one knows what is there. Each of its
tables is written here and nowhere else, with the SQL beside the code that needs it.
"""
