"""Skeletons: scripts with idempotency in them, to be filled with the names that were chosen.

A row must not stand there twice after a second run, after a replay, or because a teammate's
automation is woken by the same moment. Each skeleton reads what is written and skips it, and
names the key once more where it writes, which settles those who write at the same time.

They are texts beside this module, whole and valid as they are; a blank is a word in capitals
between two pairs of underscores.
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
    """One way to write so that nothing doubles."""

    id: str
    title: str
    when: str
    grants: tuple[str, ...]

    @property
    def source(self) -> str:
        return _source(self.id)

    @property
    def blanks(self) -> tuple[str, ...]:
        """The words to be filled in, in the order in which they stand there."""
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
    """The script with every blank filled; a name that would break out of its text is refused."""
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
    """Each blank of a skeleton that nobody has filled, by its name and line."""
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
