"""Tools from outside: servers that a workspace is connected to, and what they offer it."""
