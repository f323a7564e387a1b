"""Columns: types of a dataset's fields, and validation of rows against them.

A column constrains one key. Other keys are unconstrained, so a row may carry any extra fields, up
to the size limits. Null means no value and is valid in every column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson

from mainspring.contracts.display_text import name_findings
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.suggestions import suggest_nearest

FIELD_TYPES: Final = ("text", "select", "number", "date", "tags", "user", "richtext")
# Written by the server only.
SERVER_KEYS: Final = frozenset({"row_id", "_src", "_updated_at", "_deleted_at"})
MOST_FINDINGS: Final = 100
LONGEST_KEY: Final = 200

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].+)?")

# The problem of a value and an optional remedy; None when it is valid.
ColumnFault = tuple[str, str | None]
ColumnCheck = Callable[[Any], ColumnFault | None]


@dataclass(frozen=True, slots=True)
class EncodedRow:
    """A row encoded for storage."""

    text: str
    bytes: int


def find_column_problems(
    columns: Sequence[Mapping[str, Any]], at: str, stored: Sequence[Mapping[str, Any]] = ()
) -> Iterator[Finding]:
    """Find column problems that the JSON schema cannot express; stored texts are kept."""
    seen: set[str] = set()
    known = {text for column in stored for _, text in _iterate_column_texts(column)}
    for number, column in enumerate(columns):
        key, place = column["key"], join_pointer(at, number)
        for path, text in _iterate_column_texts(column):
            yield from name_findings(text, join_pointer(place, *path), known)
        if key in SERVER_KEYS:
            detail = f"The server itself writes {key!r}; a column needs another key."
            yield Finding(join_pointer(place, "key"), detail, "server_key")
        if key in seen:
            yield Finding(
                join_pointer(place, "key"), f"Two columns have the key {key!r}.", "key_twice"
            )
        seen.add(key)
        is_select = column.get("field_type", "text") == "select"
        if is_select and not column.get("options"):
            detail = "A select needs its options."
            yield Finding(
                join_pointer(place, "options"), detail, "no_options", 'As in ["open", "done"].'
            )
        elif not is_select and "options" in column:
            yield Finding(join_pointer(place, "options"), "Only a select has options.", "options")


def _iterate_column_texts(column: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the texts of a column that people read, each with its pointer."""
    yield ("key",), column["key"]
    if "label" in column:
        yield ("label",), column["label"]
    for number, option in enumerate(column.get("options", ())):
        yield ("options", number), option


def complete_columns(columns: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Fill in defaults: the key is the label, and the type is text."""
    return [
        {
            "key": column["key"],
            "label": column.get("label", column["key"]),
            "field_type": column.get("field_type", "text"),
            **({"options": list(column["options"])} if "options" in column else {}),
        }
        for column in columns
    ]


class RowValidator:
    """Validates rows of one dataset and encodes them for storage."""

    def __init__(
        self, columns: Sequence[Mapping[str, Any]], limits: Limits, key_field: str | None = None
    ) -> None:
        self._checks = [(column["key"], _check_of(column)) for column in columns]
        self._limits = limits
        self._key_field = key_field
        self.findings: list[Finding] = []

    def check_values(self, row: Mapping[str, Any], at: str) -> None:
        """Record every value that its column rejects, and every reserved key."""
        if not SERVER_KEYS.isdisjoint(row):
            for key in row:
                if key in SERVER_KEYS:
                    detail = f"{key} is written by the server alone."
                    self._note(join_pointer(at, key), detail, "server_key", "Leave it out.")
        for key, check in self._checks:
            value = row.get(key)
            if value is not None:
                fault = check(value)
                if fault is not None:
                    self._note(join_pointer(at, key), fault[0], "column_type", fault[1])

    def encode(self, row: Mapping[str, Any], at: str) -> EncodedRow:
        """Encode the row; record what prevents it from being stored."""
        field = self._key_field
        if field is not None and row.get(field) is None:
            self._note(
                join_pointer(at, field),
                f"Doubles are recognised by {field!r}; this row has none.",
                "no_dedupe_key",
            )
        if len(row) > self._limits.board_row_keys:
            most = self._limits.board_row_keys
            self._note(at, f"A row has at most {most} keys; this has {len(row)}.", "row_keys")
        if "" in row or max(map(len, row), default=0) > LONGEST_KEY:
            self._note(at, f"A key has 1 to {LONGEST_KEY} characters.", "row_key")
        text = self._spelled(row, at)
        if len(text) > self._limits.board_row_bytes:
            most = self._limits.board_row_bytes
            self._note(at, f"A row is at most {most:,} bytes; this is {len(text):,}.", "row_bytes")
        return EncodedRow(text.decode(), len(text))

    def _spelled(self, row: Mapping[str, Any], at: str) -> bytes:
        try:
            return orjson.dumps(row)
        except orjson.JSONEncodeError:
            # It would be read back rounded.
            self._note(at, "The row holds a whole number beyond 64 bits.", "row_number")
            return b"{}"

    def _note(self, pointer: str, detail: str, code: str, suggestion: str | None = None) -> None:
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding(pointer, detail, code, suggestion))

    def raise_findings(self) -> None:
        """Raise when any row has a problem: all rows are stored or none."""
        if self.findings:
            raise Invalid(
                f"The rows do not fit: {self.findings[0].detail}",
                code="rows_invalid",
                findings=self.findings,
            )


def _check_of(column: Mapping[str, Any]) -> ColumnCheck:
    kind = column["field_type"]
    if kind == "select":
        return _build_options_check(column["options"])
    return {"number": _check_number, "date": _check_date, "tags": _check_tags}.get(
        kind, _check_text
    )


def _build_options_check(options: Sequence[str]) -> ColumnCheck:
    allowed = frozenset(options)

    def check(value: Any) -> ColumnFault | None:
        if isinstance(value, str) and value in allowed:
            return None
        shown = ", ".join(options[:20])
        hint = suggest_nearest(value, options) if isinstance(value, str) else None
        return f"This must be one of: {shown}.", hint

    return check


def _check_number(value: Any) -> ColumnFault | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return None
    return "This must be a number.", "Write it without quotes, as in 12.5."


def _check_date(value: Any) -> ColumnFault | None:
    if isinstance(value, str) and _DATE.fullmatch(value):
        try:
            datetime.fromisoformat(value)
        except ValueError:
            pass
        else:
            return None
    return "This must be a date.", "As in 2026-01-31 or 2026-01-31T09:00:00Z."


def _check_tags(value: Any) -> ColumnFault | None:
    if isinstance(value, list) and all(isinstance(tag, str) for tag in value):
        return None
    return "This must be a list of texts.", 'As in ["new", "urgent"].'


def _check_text(value: Any) -> ColumnFault | None:
    # Sources send numbers in text columns; only values that no cell can show are rejected.
    if isinstance(value, (str, int, float)):
        return None
    return "This must be text.", None
