"""What monday.com sends, read into rows: the columns of a board become columns here.

An item without an id refuses the whole list, since rows that vanish silently would look deleted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mainspring.contracts.errors import UpstreamError

_LONGEST: Final = 80
_BETWEEN: Final = re.compile(r"[\W_]+")
OWN: Final[dict[str, str]] = {
    "id": "text",
    "name": "text",
    "group": "text",
    "state": "text",
    "created_at": "datetime",
    "updated_at": "datetime",
    "url": "url",
}
BOARD: Final[dict[str, str]] = {
    "id": "text",
    "name": "text",
    "state": "text",
    "kind": "text",
    "workspace_id": "text",
    "items_count": "number",
    "updated_at": "datetime",
    "url": "url",
}
Row = dict[str, Any]


def name_columns(columns: Sequence[Any], by: str) -> dict[str, str]:
    """What the columns of a board are called here, by their ids.

    A title that is taken, by another column or by the item's own fields, has its id behind it.
    """
    names: dict[str, str] = {}
    taken = set(OWN)
    for column in columns:
        named = column.get("id") if isinstance(column, Mapping) else None
        # The name of the item is a column of its own over there.
        if not isinstance(named, str) or not named or column.get("type") == "name":
            continue
        title = column.get("title")
        made = normalize_title(title) if by == "title" and isinstance(title, str) else named
        if not made or made in taken:
            made = f"{made}_{named}".strip("_")
        taken.add(made)
        names[named] = made
    return names


def normalize_title(title: str) -> str:
    """A title in lower case, with one _ for everything that is no letter or digit."""
    return _BETWEEN.sub("_", title.lower()).strip("_")[:_LONGEST]


def build_item_row(item: Any, names: Mapping[str, str]) -> Row:
    """An item as a row: its own fields and its columns."""
    entry = _entry(item)
    row: Row = {
        "id": _id(entry),
        "name": _text(entry.get("name")),
        "group": _text(_part(entry.get("group")).get("title")),
        **{key: _text(entry.get(key)) for key in ("state", "created_at", "updated_at", "url")},
        **dict.fromkeys(names.values()),
    }
    values = entry.get("column_values")
    for one in values if isinstance(values, list) else []:
        name = names.get(_part(one).get("id", ""))
        if name is not None:
            row[name] = _value(one)
    return row


def build_board_row(board: Any) -> Row:
    """A board as a row."""
    entry = _entry(board)
    count, workspace = entry.get("items_count"), entry.get("workspace_id")
    return {
        "id": _id(entry),
        "kind": _text(entry.get("board_kind")),
        "workspace_id": None if workspace is None else str(workspace),
        "items_count": count if isinstance(count, int) else None,
        **{key: _text(entry.get(key)) for key in ("name", "state", "updated_at", "url")},
    }


def _value(column: Mapping[str, Any]) -> Any:
    """What stands in a column, as people see it; numbers and ticks as such."""
    kind = column.get("type")
    text = _text(column.get("text")) or _text(column.get("display_value"))
    if kind == "checkbox":
        return text == "v"
    if kind == "numbers" and text:
        try:
            number = float(text)
        except ValueError:
            return text
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    return text or None


def _entry(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _unreadable()
    return value


def _id(entry: Mapping[str, Any]) -> str:
    found = entry.get("id")
    if not isinstance(found, str | int) or isinstance(found, bool) or not str(found):
        raise _unreadable()
    return str(found)


def _part(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _unreadable() -> UpstreamError:
    return UpstreamError(
        "monday.com sent an entry that cannot be read: it lacks an id.",
        code="monday_entry",
        retryable=False,
    )
