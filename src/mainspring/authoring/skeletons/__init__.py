"""Script skeletons with built-in idempotency, to be filled with names.

Rows must not be duplicated by a second run, a replay, or another automation with the same trigger.
Each skeleton reads existing rows and skips them, and passes the dedup key on write, which covers
concurrent writers.

They are files next to this module, valid as they are; a placeholder is an upper-case word between
double underscores.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from mainspring.contracts.errors import Finding, Invalid

_BLANK: Final = re.compile(r"__([A-Z]+(?:_[A-Z]+)*)__")
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]{0,200}')
_WORDS: Final = {
    "BOARD_ID": "The id of the board it writes, from list_boards or create_board.",
    "DATASET": 'The dataset of the board; "default" unless the person said another.',
    "KEY_FIELD": "dedupe_key_field: the field that holds the upstream id.",
    "TARGET_FIELD": "dedupe_target_field: the list field of a row that is added to.",
    "MATCH_FIELD": "The field of a row that says which upstream items are about it.",
    "QUERY": "What to search for upstream.",
    "PAGE_TYPE": "The type of the pages that are read, such as email or note.",
}


@dataclass(frozen=True, slots=True)
class ScriptSkeleton:
    """A script template that writes without duplicates."""

    id: str
    title: str
    when: str
    grants: tuple[str, ...]

    @property
    def source(self) -> str:
        return _source(self.id)

    @property
    def blanks(self) -> tuple[str, ...]:
        """Its placeholders, in order of occurrence."""
        return tuple(dict.fromkeys(_BLANK.findall(self.source)))

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "title": self.title,
            "when": self.when,
            "source": self.source,
            "blanks": [{"blank": f"__{one}__", "fill_with": _WORDS[one]} for one in self.blanks],
            "tool_grants": [{"tool": tool} for tool in self.grants],
        }


SKELETONS: Final = (
    ScriptSkeleton(
        "append_once",
        "Append rows, each upstream id once",
        "It adds new rows to a board that others may write too. The usual choice.",
        ("search", "get_board", "append_board_rows"),
    ),
    ScriptSkeleton(
        "update_in_place",
        "Add to a list inside rows that are there",
        "Rows exist already, and each collects entries in a list field: dedupe_target_field.",
        ("search", "get_board", "update_board_rows"),
    ),
    ScriptSkeleton(
        "cursor",
        "Go on where the last run ended",
        "There is too much upstream to read all of it every time; a cursor is remembered.",
        ("list_pages", "append_board_rows"),
    ),
)


def fill_skeleton(skeleton: ScriptSkeleton, names: Mapping[str, str]) -> str:
    """Fill every placeholder; values that would break out of their string are rejected."""
    for name, value in names.items():
        if _PLAIN.fullmatch(value) is None:
            detail = "This would not stay inside its text."
            raise Invalid(detail, code="bad_blank", findings=[Finding(f"/{name}", detail, "blank")])
    missing = [blank for blank in skeleton.blanks if blank not in names]
    if missing:
        detail = f"The skeleton still needs {', '.join(missing)}."
        raise Invalid(detail, code="blank_left", findings=[Finding("", detail, "missing")])
    return _BLANK.sub(lambda found: names[found[1]], skeleton.source)


def blanks_left(source: str | None) -> list[Finding]:
    """Find unfilled placeholders by name and line."""
    return [
        Finding(
            "/source",
            f"Line {number} still has the blank __{blank}__ of the skeleton.",
            "blank_left",
            f"Fill it in: {_WORDS[blank]}",
        )
        for number, line in enumerate((source or "").splitlines(), 1)
        for blank in dict.fromkeys(_BLANK.findall(line))
        if blank in _WORDS
    ]


@cache
def _source(name: str) -> str:
    return files(__package__).joinpath(f"{name}.ts").read_text(encoding="utf-8")
