"""The tools of an agent: capability names, and patterns such as ``slack.*``.

A pattern matches the capabilities that can be granted without further settings. Others must be
named: a capability that calls hosts or needs a secret, one that changes automations or confirms
drafts, and another agent, which can never be a tool. Patterns are expanded when a definition is
validated, so a capability that is added later is not granted implicitly.
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

# Names that model providers and MCP clients accept: letters, digits, _ and -.

_LONGEST: Final = 64
# Length of the hash suffix in bytes.
_SHORT: Final = 4
_LONG: Final = 16
_MARKED: Final = re.compile(rf"_(?:[0-9a-f]{{{_SHORT * 2}}}|[0-9a-f]{{{_LONG * 2}}})\Z")
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_-]")


def choose_tool_name(capability: str, used: Collection[str]) -> str:
    """A tool name that every provider accepts and no other tool has."""
    name = _plain(capability)
    if len(name) <= _LONGEST and name not in used:
        return name
    return _build_hashed_name(capability, used)


def map_tool_aliases(capabilities: Iterable[str]) -> dict[str, str]:
    """The capability for each alias; names that a client might refuse have one alias.

    When two capabilities would share an alias, neither gets it: a client that remembers the alias
    from before the second one existed must not reach the wrong tool. For the same reason, a name
    that looks like a hashed alias is never its own alias.
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
    # The hashed alias may collide with the name of another tool. The second hash is long enough to
    # make a deliberate collision infeasible.
    plain = _plain(capability)
    first = _append_hash(plain, capability)
    others = (_append_hash(plain, f"{capability}{'*' * n}", _LONG) for n in itertools.count(1))
    return next(name for name in itertools.chain([first], others) if name not in used)


def _append_hash(name: str, source: str, size: int = _SHORT) -> str:
    mark = hashlib.blake2b(source.encode(), digest_size=size).hexdigest()
    return f"{name[: _LONGEST - len(mark) - 1]}_{mark}"


# Grants for these capabilities name the allowed hosts; without hosts they allow none.
HOSTED: Final = frozenset({"http_fetch", "ingest_from_endpoint"})
# Capabilities that change or start automations or confirm drafts must be named explicitly.
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
# More wildcards than this distinguish no more names.
MOST_STARS: Final = 8


def is_pattern(name: str) -> bool:
    """Whether a name is a pattern."""
    return "*" in name


def match_pattern(pattern: str, capabilities: Mapping[str, Capability]) -> Iterator[str]:
    """The capabilities that match a pattern, by name."""
    begin, *pieces = pattern.split("*")
    for name in sorted(capabilities):
        one = capabilities[name]
        if (_fits(name, begin, pieces) or _belongs_to_integration(one, pattern)) and can_be_meant(
            one
        ):
            yield name


def _belongs_to_integration(capability: Capability, pattern: str) -> bool:
    """Whether the pattern names the integration of a capability: ``slack.*`` matches slack_post."""
    route = capability.annotations.route
    return route is not None and pattern == f"{route.integration}.*"


def matches_pattern(pattern: str, name: str) -> bool:
    """Whether a name matches a pattern, without looking up the capability."""
    begin, *pieces = pattern.split("*")
    return _fits(name, begin, pieces)


def _fits(name: str, begin: str, pieces: list[str]) -> bool:
    """Whether a name contains these literals in order, found in one pass from left to right."""
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
    """Whether a pattern may include this capability."""
    wanted = set(capability.input_schema.get("required", ()))
    secret = bool(wanted & capability.annotations.only_secrets)
    named = capability.id in HOSTED | BY_NAME or capability.id == AGENT_RUN
    held = bool(capability.annotations.held_back)
    return capability.grantable and not secret and not named and not held


def read_tool_name(entry: Any) -> str | None:
    """The name in one entry of a tool list, if it is valid."""
    name = entry.get("tool") if isinstance(entry, Mapping) else entry
    return name if isinstance(name, str) else None


def read_fixed_params(entry: Any) -> Mapping[str, Any]:
    """The arguments that an entry fixes."""
    params = entry.get("params") if isinstance(entry, Mapping) else None
    return params if isinstance(params, Mapping) else {}


def read_agent_grants(config: Mapping[str, Any]) -> tuple[Grant, ...]:
    """The grants of an agent: itself and its tools, with patterns not expanded."""
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
    """The constant arguments of an entry, which become bounds of its grant.

    Templated arguments are only known in the run, and ``hosts`` of a grant refers to a url.
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
