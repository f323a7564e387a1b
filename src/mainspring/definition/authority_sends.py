"""What an automation sends, as it is written: to whom, and with which template.

A person agrees to a template and to where it goes. What a step before it reads, computes or lets a
model write is filled in by the run and is no part of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mainspring.definition.authority_steps import Placed, placed_steps
from mainspring.definition.authority_words import shown
from mainspring.definition.json_values import canonical

_SCRIPT: Final = "script"
# Settings of a request that say nothing about what is sent.
_QUIET: Final = frozenset({"timeout_seconds", "max_bytes", "follow_redirects"})


def outgoing(step: Placed) -> bytes:
    """What a step sends and where to, as it is written; of a script its source."""
    if step.action == _SCRIPT:
        return canonical([_SCRIPT, step.config.get("source")])
    said = {key: value for key, value in step.config.items() if key not in _QUIET}
    return canonical([step.action, said])


def more_sends(
    before: Sequence[Placed], after: Sequence[Placed], sends: frozenset[str] | None
) -> Iterator[tuple[str, str]]:
    """What is sent that was not: the place, and a sentence. ``sends`` are the steps that send."""
    known = {outgoing(one) for one in before}
    names = {(one.id, one.action) for one in before}
    for one in after:
        if sends is None or one.pointer not in sends or outgoing(one) in known:
            continue
        name = f"the step {shown(one.id)} ({shown(one.action)})"
        if one.action == _SCRIPT:
            yield one.pointer, f"The script at {name}, which may write outside, is another one now."
        elif (one.id, one.action) in names:
            yield one.pointer, f"It now sends another text, or to somebody else, at {name}."
        else:
            yield one.pointer, f"It now also sends something at {name}."


def outgoing_by(document: Mapping[str, Any], capability: str) -> frozenset[bytes]:
    """All that a definition sends with one capability, as it is written."""
    return frozenset(outgoing(one) for one in placed_steps(document) if _calls(one, capability))


def _calls(step: Placed, capability: str) -> bool:
    if step.action == capability:
        return True
    granted = step.config.get("grants") if step.action == _SCRIPT else None
    return isinstance(granted, list) and any(
        isinstance(one, Mapping) and one.get("tool") == capability for one in granted
    )
