"""A name that is free: the one that is wanted, or the first number behind it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

LONGEST_NAME: Final = 200


def choose_free_name(name: str, taken: Collection[str]) -> str:
    """The name itself where nothing else has it."""
    number, found = 1, name[:LONGEST_NAME]
    while found in taken:
        number += 1
        ending = f" ({number})"
        found = name[: LONGEST_NAME - len(ending)] + ending
    return found
