"""Writes to integrations as they are asked for: by an exact action, or in words."""
