"""The things that recipes make, each kind as the codex asks for it."""
