"""The tools of an agent: names of capabilities, and patterns such as ``slack.*``.

A pattern stands for what can be granted and needs no further word from its author. What needs
one is named: a capability that goes to hosts, one that wants a secret, one that changes
automations or lets drafts go, and an agent, which is never the tool of another. Which
capabilities a pattern stands for is settled when a definition is judged, so that one which
appears later is not granted by the way.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from mainspring.contracts.agent import AGENT_RUN
from mainspring.contracts.capability import Capability
from mainspring.contracts.grant import Grant
from mainspring.definition.hosts import grant_entry

# Names of capabilities as model providers and MCP clients take them: letters, digits, _ and -.

_LONGEST: Final = 64
# Bytes of a hash.
_SHORT: Final = 4
_LONG: Final = 16
_MARKED: Final = re.compile(rf"_(?:[0-9a-f]{{{_SHORT * 2}}}|[0-9a-f]{{{_LONG * 2}}})\Z")
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_-]")


def choose_tool_name(capability: str, used: Collection[str]) -> str:
    """A name that every provider takes, and that no other tool has."""
    name = _plain(capability)
    if len(name) <= _LONGEST and name not in used:
        return name
    return _build_hashed_name(capability, used)


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


def _build_hashed_name(capability: str, used: Collection[str]) -> str:
    # The name with a hash may be another tool's name as well. The hashes after the first are too
    # long for anybody to find a name that has the same.
    plain = _plain(capability)
    first = _append_hash(plain, capability)
    others = (_append_hash(plain, f"{capability}{'*' * n}", _LONG) for n in itertools.count(1))
    return next(name for name in itertools.chain([first], others) if name not in used)


def _append_hash(name: str, source: str, size: int = _SHORT) -> str:
    mark = hashlib.blake2b(source.encode(), digest_size=size).hexdigest()
    return f"{name[: _LONGEST - len(mark) - 1]}_{mark}"


# A grant for one of these says where it may go; without hosts it goes nowhere.
HOSTED: Final = frozenset({"http_fetch", "ingest_from_endpoint"})
# What changes automations, sets them going, or lets a draft go: whoever means it names it.
BY_NAME: Final = frozenset(
    {
        "confirm_action",
        "delete_automation",
        "rehearse_automation",
        "run_automation_once",
        "save_automation_draft",
        "update_automation",
    }
)
# No name has more parts than a pattern with so many can tell apart.
MOST_STARS: Final = 8


def is_pattern(name: str) -> bool:
    """Whether a name stands for several capabilities."""
    return "*" in name


def match_pattern(pattern: str, capabilities: Mapping[str, Capability]) -> Iterator[str]:
    """The capabilities that a pattern stands for, by name."""
    begin, *pieces = pattern.split("*")
    for name in sorted(capabilities):
        one = capabilities[name]
        if (_fits(name, begin, pieces) or _belongs_to_integration(one, pattern)) and can_be_meant(
            one
        ):
            yield name


def _belongs_to_integration(capability: Capability, pattern: str) -> bool:
    """Whether a pattern means an integration and this is its own: slack_post of ``slack.*``."""
    route = capability.annotations.route
    return route is not None and pattern == f"{route.integration}.*"


def matches_pattern(pattern: str, name: str) -> bool:
    """Whether a pattern has this name in it, whatever the name stands for."""
    begin, *pieces = pattern.split("*")
    return _fits(name, begin, pieces)


def _fits(name: str, begin: str, pieces: list[str]) -> bool:
    """Whether a name has these pieces in their order, looked for once from left to right."""
    if not pieces:
        return name == begin
    if not name.startswith(begin):
        return False
    place = len(begin)
    for piece in pieces[:-1]:
        found = name.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    return len(name) - len(pieces[-1]) >= place and name.endswith(pieces[-1])


def can_be_meant(capability: Capability) -> bool:
    """Whether a pattern may stand for it."""
    wanted = set(capability.input_schema.get("required", ()))
    secret = bool(wanted & capability.annotations.only_secrets)
    named = capability.id in HOSTED | BY_NAME or capability.id == AGENT_RUN
    held = bool(capability.annotations.held_back)
    return capability.grantable and not secret and not named and not held


def read_tool_name(entry: Any) -> str | None:
    """The name in one entry of a list of tools, if it can be read."""
    name = entry.get("tool") if isinstance(entry, Mapping) else entry
    return name if isinstance(name, str) else None


def read_fixed_params(entry: Any) -> Mapping[str, Any]:
    """The arguments that an entry fixes."""
    params = entry.get("params") if isinstance(entry, Mapping) else None
    return params if isinstance(params, Mapping) else {}


def read_agent_grants(config: Mapping[str, Any]) -> tuple[Grant, ...]:
    """What an agent calls: itself, and its tools, patterns as they stand."""
    given = config.get("tools")
    entries = given if isinstance(given, list) else []
    return (Grant(AGENT_RUN), *(grant for grant in map(_grant, entries) if grant is not None))


def _grant(entry: Any) -> Grant | None:
    name = read_tool_name(entry)
    if name is None or name == AGENT_RUN:
        return None
    if name not in HOSTED:
        return Grant(name, _plain_params(read_fixed_params(entry)))
    site = grant_entry(read_fixed_params(entry).get("url"))
    return Grant(name, {"hosts": [] if site is None else [site]})


def _plain_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """What an entry fixes for good, which its grant need not leave open.

    What a template decides is known to the run alone, and ``hosts`` of a grant means a url.
    """
    return {
        name: value for name, value in params.items() if name != "hosts" and not _is_open(value)
    }


def _is_open(value: Any) -> bool:
    if isinstance(value, str):
        return "{{" in value or "{%" in value
    if isinstance(value, Mapping):
        return any(_is_open(key) or _is_open(entry) for key, entry in value.items())
    return isinstance(value, list) and any(map(_is_open, value))
