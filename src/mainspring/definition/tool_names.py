"""Names of capabilities as model providers and MCP clients take them: letters, digits, _ and -."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

_LONGEST: Final = 64
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_-]")


def tool_name_for(capability: str, taken: Collection[str]) -> str:
    """A name that every provider takes, and that no other tool has."""
    name = _plain(capability)
    if len(name) <= _LONGEST and name not in taken:
        return name
    return _hashed(capability, taken)


def aliases(capabilities: Iterable[str]) -> dict[str, str]:
    """The capability behind each alias: one for each name that a client might refuse.

    Where two would share a name, neither has it: a client that remembers the name from before
    the second one was there must not reach the other tool.
    """
    names = set(capabilities)
    shared = Counter(map(_plain, names))
    found: dict[str, str] = {}
    for name in sorted(names):
        plain = _plain(name)
        if plain == name and len(name) <= _LONGEST:
            continue
        free = len(plain) <= _LONGEST and shared[plain] == 1
        found[plain if free else _hashed(name, names | found.keys())] = name
    return found


def _plain(capability: str) -> str:
    return _FOREIGN.sub("_", capability)


def _hashed(capability: str, taken: Collection[str]) -> str:
    # The name with a hash may be another tool's name as well.
    marks = (_marked(_plain(capability), f"{capability}{'*' * n}") for n in itertools.count())
    return next(marked for marked in marks if marked not in taken)


def _marked(name: str, source: str) -> str:
    mark = hashlib.blake2b(source.encode(), digest_size=4).hexdigest()
    return f"{name[: _LONGEST - len(mark) - 1]}_{mark}"
