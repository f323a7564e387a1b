"""What an anti-example is: a good document with one thing changed, and the finding that follows."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

# In place of a value: the key is taken away.
ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class AntiExample:
    """A document that is refused, why, and the finding that says so."""

    reason: str
    document: Any
    pointer: str
    code: str
    # Whether the published schema alone refuses it.
    schema: bool


def change_document(document: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    """The same document with one value set, or taken away."""
    made = deepcopy(document)
    *path, last = place.strip("/").split("/")
    target: Any = made
    for part in path:
        target = target[int(part)] if isinstance(target, list) else target[part]
    key: Any = int(last) if isinstance(target, list) else last
    if value is ABSENT:
        del target[key]
    elif isinstance(target, list) and key == len(target):
        target.append(value)
    else:
        target[key] = value
    return made
