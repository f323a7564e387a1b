"""Names of capabilities as model providers and MCP clients take them: letters, digits, _ and -."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

_LONGEST: Final = 64
# Bytes of a hash.
_SHORT: Final = 4
_LONG: Final = 16
_MARKED: Final = re.compile(rf"_(?:[0-9a-f]{{{_SHORT * 2}}}|[0-9a-f]{{{_LONG * 2}}})\Z")
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_-]")


def choose_tool_name(capability: str, taken: Collection[str]) -> str:
    """A name that every provider takes, and that no other tool has."""
    name = _plain(capability)
    if len(name) <= _LONGEST and name not in taken:
        return name
    return _build_hashed_name(capability, taken)


def map_tool_aliases(capabilities: Iterable[str]) -> dict[str, str]:
    """The capability behind each alias: one for each name that a client might refuse.

    Where two would share a name, neither has it: a client that remembers the name from before
    the second one was there must not reach the other tool. For the same reason a name that
    looks like one with a hash is never an alias as it is.
    """
    names = set(capabilities)
    shared = Counter(map(_plain, names))
    marks = Counter(_append_hash(_plain(name), name) for name in names)
    taken = names | {mark for mark, count in marks.items() if count > 1}
    found: dict[str, str] = {}
    for name in sorted(names):
        plain = _plain(name)
        if plain == name and len(name) <= _LONGEST:
            continue
        free = len(plain) <= _LONGEST and shared[plain] == 1 and not _MARKED.search(plain)
        alias = plain if free else _build_hashed_name(name, taken)
        taken.add(alias)
        found[alias] = name
    return found


def _plain(capability: str) -> str:
    return _FOREIGN.sub("_", capability)


def _build_hashed_name(capability: str, taken: Collection[str]) -> str:
    # The name with a hash may be another tool's name as well. The hashes after the first are too
    # long for anybody to find a name that has the same.
    plain = _plain(capability)
    first = _append_hash(plain, capability)
    others = (_append_hash(plain, f"{capability}{'*' * n}", _LONG) for n in itertools.count(1))
    return next(name for name in itertools.chain([first], others) if name not in taken)


def _append_hash(name: str, source: str, size: int = _SHORT) -> str:
    mark = hashlib.blake2b(source.encode(), digest_size=size).hexdigest()
    return f"{name[: _LONGEST - len(mark) - 1]}_{mark}"
