"""A place in a definition, in words: whoever reads a flag should not have to count brackets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mainspring.definition.strict_json import split_pointer
from mainspring.surfaces.cli.screen import one_line

_WIDE: Final = 120
_STEPS: Final = frozenset({"plan", "steps", "on_failure", "do", "then", "else"})
# Parts that say nothing to a person.
_SILENT: Final = frozenset({"config", "execution", "properties"})


def describe_pointer(pointer: str, definition: Any) -> str:
    """``/plan/1/config/channel`` as ``step 2 (post), channel``; nothing for the whole of it."""
    return one_line(", ".join(_walk(split_pointer(pointer), definition)), _WIDE)


def _walk(parts: Iterable[str], here: Any) -> Iterator[str]:
    within = ""
    for part in parts:
        holder, here = here, _below(here, part)
        if isinstance(holder, list) or (part.isdecimal() and within):
            yield _entry(within, part, here)
            within = ""
            continue
        if within:
            yield _plain(within)
        within = "" if part in _SILENT else part
    if within:
        yield _plain(within)


def _entry(within: str, part: str, entry: Any) -> str:
    number = int(part) + 1 if part.isdecimal() and len(part) < 6 else part
    named = entry if isinstance(entry, Mapping) else {}
    if within in _STEPS:
        name = named.get("step_id")
        late = " on failure" if within == "on_failure" else ""
        return f"step {number}{late}" + (f" ({name})" if isinstance(name, str) else "")
    if within == "triggers":
        kind = named.get("type")
        return f"trigger {number}" + (f" ({_plain(kind)})" if isinstance(kind, str) else "")
    return f"{_plain(within)} {number}" if within else f"entry {number}"


def _plain(key: str) -> str:
    return key.replace("_", " ")


def _below(here: Any, part: str) -> Any:
    if isinstance(here, Mapping):
        return here.get(part)
    if isinstance(here, list) and part.isdecimal() and len(part) < 6 and int(part) < len(here):
        return here[int(part)]
    return None
