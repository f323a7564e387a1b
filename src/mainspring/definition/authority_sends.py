"""What an automation sends, as it is written: to whom, and with which template.

A person agrees to a template and to where it goes. What the definition itself fills in, by an
earlier ``transform_data`` step or the default of an input, is part of that. What a step reads or
lets a model write is filled in by the run and is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mainspring.definition.authority_steps import Placed, placed_steps
from mainspring.definition.authority_words import shown
from mainspring.definition.json_values import canonical

_SCRIPT: Final = "script"
_TRANSFORM: Final = "transform_data"
# Settings of a request that say nothing about what is sent.
_QUIET: Final = frozenset({"timeout_seconds", "max_bytes", "follow_redirects"})


@dataclass(frozen=True, slots=True)
class Written:
    """The steps of a definition, and what its inputs are where a run is given none."""

    steps: Sequence[Placed] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)


def defaults_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults of a definition's inputs, by name."""
    schema = (document.get("inputs") or {}).get("schema") or {}
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return {
        name: one["default"]
        for name, one in (found.items() if isinstance(found, Mapping) else ())
        if isinstance(one, Mapping) and "default" in one
    }


def outgoing(step: Placed, written: Written) -> bytes:
    """What a step sends and where to, as it is written; of a script its source."""
    if step.action == _SCRIPT:
        return canonical([_SCRIPT, step.config.get("source")])
    said = {key: value for key, value in step.config.items() if key not in _QUIET}
    return canonical([step.action, said, *_filled_in(said, written)])


def _filled_in(said: Mapping[str, Any], written: Written) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the definition itself fills into these settings, over any number of steps."""
    computed = {one.output: one.config for one in written.steps if one.action == _TRANSFORM}
    texts, steps = [canonical(said).decode()], dict[str, Any]()
    while texts:
        text = texts.pop()
        for name in computed.keys() - steps.keys():
            if _names(text, "steps", name):
                steps[name] = computed[name]
                texts.append(canonical(computed[name]).decode())
    whole = canonical([said, steps]).decode()
    given = {name: one for name, one in written.defaults.items() if _names(whole, "inputs", name)}
    return steps, given


def _names(text: str, root: str, name: str) -> bool:
    """Whether a text may refer to this; once too often is no harm."""
    return root in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def more_sends(
    before: Written, after: Written, sends: frozenset[str] | None
) -> Iterator[tuple[str, str]]:
    """What is sent that was not: the place, and a sentence. ``sends`` are the steps that send."""
    known = {outgoing(one, before) for one in before.steps}
    names = {(one.id, one.action) for one in before.steps}
    for one in after.steps:
        if sends is None or one.pointer not in sends or outgoing(one, after) in known:
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
    written = Written(placed_steps(document), defaults_of(document))
    return frozenset(outgoing(one, written) for one in written.steps if _calls(one, capability))


def _calls(step: Placed, capability: str) -> bool:
    if step.action == capability:
        return True
    granted = step.config.get("grants") if step.action == _SCRIPT else None
    return isinstance(granted, list) and any(
        isinstance(one, Mapping) and one.get("tool") == capability for one in granted
    )
