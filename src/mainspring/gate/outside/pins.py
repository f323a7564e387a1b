"""What a person agrees to when they agree to a tool, in one hash, and what is different now.

All that reaches a person or a model is covered: the name, the title, the description, both
schemas and the hints. A server that changes any of it offers something that nobody has agreed
to. What it says is data: it is bounded, and nothing that steers a screen stays in it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import Any, Final

from mainspring.definition.json_values import encode_canonical

_PURPOSE: Final = b"mainspring tool v1\0"
# Control characters, and those that are not seen or turn text around.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\u115f\u1160\u3164\uffa0\U000e0000-\U000e0fff\ud800-\udfff]"
)
# Says how the character before it looks, as emoji do; a row of them is a message.
_HIDDEN_ROW: Final = re.compile("[\ufe00-\ufe0f]{2,}")
_LONGEST_LINE: Final = 300
_LONGEST_NAME: Final = 100
# What stays before the place where two long lines part.
_LED_IN: Final = 60
# More than a person reads of one tool.
MOST_LINES: Final = 200


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """A tool as its server describes it, cleaned and bounded."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: Any = field(default_factory=dict)
    output_schema: Any = None
    hints: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
            "hints": dict(self.hints),
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> ToolDescription:
        """Reads back what ``as_dict`` made."""
        return cls(
            kept["name"],
            kept["title"],
            kept["description"],
            kept["input_schema"],
            kept["output_schema"],
            kept["hints"],
        )


def hash_tool(offered: ToolDescription) -> bytes:
    """The one hash of all that is agreed to."""
    return hashlib.sha256(_PURPOSE + encode_canonical(offered.as_dict())).digest()


def clean_text(text: str, most: int) -> str:
    """Text of a stranger: without what is not seen, and no longer than what is read."""
    kept = _UNSEEN.sub("", text[: most * 2].replace("\r\n", "\n").replace("\r", "\n"))
    kept = _HIDDEN_ROW.sub("", kept)
    return kept if len(kept) <= most else kept[:most] + " …"


def hides(text: str) -> bool:
    """Whether there is something in a text that nobody would see."""
    return bool(_UNSEEN.search(text) or _HIDDEN_ROW.search(text))


def differences(
    agreed: ToolDescription, offered: ToolDescription, most: int = MOST_LINES
) -> list[str]:
    """What is different now, in at most so many lines that a person reads, and one more."""
    found = list(islice(_differences(agreed, offered), most + 1))
    return found if len(found) <= most else [*found[:most], "… and more"]


def _differences(agreed: ToolDescription, offered: ToolDescription) -> Iterator[str]:
    yield from _of_text("title", agreed.title, offered.title)
    yield from _of_text("description", agreed.description, offered.description)
    yield from _of_value("input", agreed.input_schema, offered.input_schema)
    yield from _of_value("output", agreed.output_schema, offered.output_schema)
    yield from _of_value("hints", agreed.hints, offered.hints)


def _of_text(what: str, before: str, after: str) -> Iterator[str]:
    if before == after:
        return
    gone, come = before.splitlines() or [""], after.splitlines() or [""]
    # Looked up in sets: a stranger chooses how many lines there are.
    were, are = frozenset(gone), frozenset(come)
    if were == are:
        yield f"~ {what}: the same lines, otherwise spaced or in another order"
        return
    left = [line for line in gone if line not in are and line.strip()]
    new = [line for line in come if line not in were and line.strip()]
    yield from _beside(what, left, new)


def _of_value(what: str, before: Any, after: Any) -> Iterator[str]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted({*before, *after}):
            at = f"{what}.{name[:_LONGEST_NAME]}"
            if name not in after:
                yield f"- {at}: {_truncate_line(_format_value(before[name]))}"
            elif name not in before:
                yield f"+ {at}: {_truncate_line(_format_value(after[name]))}"
            else:
                yield from _of_value(at, before[name], after[name])
        return
    was, now = _format_value(before), _format_value(after)
    if was != now:
        yield from _beside(what, [was], [now])


def _beside(what: str, gone: Sequence[str], come: Sequence[str]) -> Iterator[str]:
    """Lines that left and lines that came; of two long ones, from where they part."""
    parted = [_split_difference(*pair) for pair in zip_longest(gone, come, fillvalue="")]
    yield from (f"- {what}: {line}" for line, _ in parted[: len(gone)])
    yield from (f"+ {what}: {line}" for _, line in parted[: len(come)])


def _split_difference(before: str, after: str) -> tuple[str, str]:
    pairs = enumerate(zip(before, after, strict=False))
    least = min(len(before), len(after))
    same = next((place for place, (one, other) in pairs if one != other), least)
    if same <= _LED_IN or max(len(before), len(after)) <= _LONGEST_LINE:
        return _truncate_line(before), _truncate_line(after)
    begin = same - _LED_IN
    return "… " + _truncate_line(before[begin:]), "… " + _truncate_line(after[begin:])


def _format_value(value: Any) -> str:
    return "nothing" if value is None else encode_canonical(value).decode()


def _truncate_line(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + " …"
