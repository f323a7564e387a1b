"""A worker that is declared dead and takes nothing back."""

from __future__ import annotations


class Dead:
    """A hook: once it is dead, the worker claims nothing more."""

    def __init__(self) -> None:
        self.dead = False

    def __call__(self, point: str) -> None:
        if self.dead and point == "claim.before":
            raise ConnectionError("This worker is dead.")
