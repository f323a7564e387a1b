"""What a person agrees to when they agree to a tool, in one hash, and what is different now.

All that reaches a person or a model is covered: the name, the title, the description, both
schemas and the hints. A server that changes any of it offers something that nobody has agreed
to. What it says is data: it is bounded, and nothing that steers a screen stays in it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mainspring.definition.json_values import canonical

_PURPOSE: Final = b"mainspring tool v1\0"
# Control characters, and those that are not seen or turn text around.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]"
)
_LONGEST_LINE: Final = 300


@dataclass(frozen=True, slots=True)
class Offered:
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
    def from_dict(cls, kept: Mapping[str, Any]) -> Offered:
        """Reads back what ``as_dict`` made."""
        return cls(
            kept["name"], kept["title"], kept["description"], kept["input_schema"],
            kept["output_schema"], kept["hints"],
        )  # fmt: skip


def pin(offered: Offered) -> bytes:
    """The one hash of all that is agreed to."""
    return hashlib.sha256(_PURPOSE + canonical(offered.as_dict())).digest()


def cleaned(text: str, most: int) -> str:
    """Text of a stranger: without what is not seen, and no longer than what is read."""
    kept = _UNSEEN.sub("", text[: most * 2].replace("\r\n", "\n").replace("\r", "\n"))
    return kept if len(kept) <= most else kept[:most] + " …"


def differences(agreed: Offered, offered: Offered) -> list[str]:
    """What is different now, in lines that a person reads."""
    return [
        *_of_text("title", agreed.title, offered.title),
        *_of_text("description", agreed.description, offered.description),
        *_of_value("input", agreed.input_schema, offered.input_schema),
        *_of_value("output", agreed.output_schema, offered.output_schema),
        *_of_value("hints", dict(agreed.hints), dict(offered.hints)),
    ]


def _of_text(what: str, before: str, after: str) -> Iterator[str]:
    if before == after:
        return
    gone, come = before.splitlines() or [""], after.splitlines() or [""]
    yield from (f"- {what}: {_cut(line)}" for line in gone if line not in come and line.strip())
    yield from (f"+ {what}: {_cut(line)}" for line in come if line not in gone and line.strip())
    if set(gone) == set(come):
        yield f"~ {what}: the same lines, otherwise spaced or in another order"


def _of_value(what: str, before: Any, after: Any) -> Iterator[str]:
    if canonical(before) == canonical(after):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted({*before, *after}):
            at = f"{what}.{name}"
            if name not in after:
                yield f"- {at}: {_spelt(before[name])}"
            elif name not in before:
                yield f"+ {at}: {_spelt(after[name])}"
            else:
                yield from _of_value(at, before[name], after[name])
        return
    yield f"- {what}: {_spelt(before)}"
    yield f"+ {what}: {_spelt(after)}"


def _spelt(value: Any) -> str:
    return "nothing" if value is None else _cut(canonical(value).decode())


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + " …"
