"""Board adapters for monday.com: the items of a board, and the list of boards."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Finding, Invalid, TooLarge, UpstreamError
from mainspring.contracts.integration import Adapter, Operation
from mainspring.contracts.object_schema import build_object_schema
from mainspring.integrations.monday.client import Monday

# Mapping items to rows: the columns of a board become columns here.

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
    """Name a board's columns, by id.

    A title in use by another column or an item field gets the column id appended.
    """
    names: dict[str, str] = {}
    taken = set(OWN)
    for column in columns:
        named = column.get("id") if isinstance(column, Mapping) else None
        # The item's name is a column of its own in the API.
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
    """Normalize a title: lower case, with _ for everything but letters and digits."""
    return _BETWEEN.sub("_", title.lower()).strip("_")[:_LONGEST]


def build_item_row(item: Any, names: Mapping[str, str]) -> Row:
    """Map an item to a row: its fields and columns."""
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
    """Map a board to a row."""
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
    """Return a column's displayed value; numbers and checkboxes keep their type."""
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


MOST_ROWS: Final = 5_000
_REF: Final = build_object_schema(
    {
        "board_id": {
            "title": "Number of the board",
            "description": "The number in the board's address.",
            "type": ["string", "integer"],
            "minimum": 1,
            "maximum": 10**18,
            "pattern": "^[0-9]{1,18}$",
            "x-mainspring-says": "This must be the number in the board's address.",
        }
    },
    [],
    [{"board_id": "1234567890"}, {"board_id": 1234567890}, {}],
    [
        ({"board_id": "my board"}, "a board is named by its number"),
        ({"board": "1234567890"}, "it is called board_id"),
    ],
)
_LIMIT: Final[dict[str, Any]] = {
    "type": "integer",
    "description": "Only so many, in the order of monday.com.",
    "minimum": 1,
    "maximum": MOST_ROWS,
}
_ITEM_PARAMS: Final = build_object_schema(
    {
        "limit": _LIMIT,
        "names": {
            "description": "Whether columns are named by their titles, or by their ids, which "
            "stay the same when a title changes.",
            "enum": ["title", "id"],
            "default": "title",
        },
    },
    [],
    [{}, {"limit": 100, "names": "id"}],
    [({"limit": 0}, "none at all"), ({"names": "both"}, "one or the other")],
)
_BOARD_PARAMS: Final = build_object_schema(
    {"limit": _LIMIT}, [], [{}, {"limit": 100}], [({"limit": 0}, "none at all")]
)


def build_board_adapter(monday: Monday) -> Adapter:
    """Build the adapter."""

    async def items(
        ctx: CallContext, ref: Mapping[str, Any], params: Mapping[str, Any]
    ) -> Sequence[Mapping[str, Any]]:
        board_id = normalize_board_ref(ref).get("board_id")
        if board_id is None:
            raise _no_board()
        found = await monday.items(ctx, board_id, int(params.get("limit", MOST_ROWS)))
        if found.more and "limit" not in params:
            raise _too_many(f"Board {board_id} has more than {MOST_ROWS} items")
        names = name_columns(found.columns, params.get("names", "title"))
        return [build_item_row(one, names) for one in found.items]

    async def boards(
        ctx: CallContext, ref: Mapping[str, Any], params: Mapping[str, Any]
    ) -> Sequence[Mapping[str, Any]]:
        del ref
        found, more = await monday.boards(ctx, int(params.get("limit", MOST_ROWS)))
        if more and "limit" not in params:
            raise _too_many(f"This account sees more than {MOST_ROWS} boards")
        return [build_board_row(one) for one in found]

    return Adapter(
        kind="monday",
        description="A board at monday.com: its items with all their columns.",
        ref_schema=_REF,
        normal=normalize_board_ref,
        connection="needed",
        operations=(
            Operation(
                "monday.list_items",
                "The items of the board. Each column of the board is added to the columns listed "
                "here.",
                _ITEM_PARAMS,
                items,
                OWN,
                label="Items",
            ),
            Operation(
                "monday.list_boards",
                "The boards that the connected account sees.",
                _BOARD_PARAMS,
                boards,
                BOARD,
                label="Boards",
            ),
        ),
        label="monday.com board",
    )


def normalize_board_ref(ref: Mapping[str, Any]) -> dict[str, str]:
    """Normalize a board id to text."""
    found = ref.get("board_id")
    return {} if found is None else {"board_id": str(found)}


def _no_board() -> Invalid:
    detail = "To list items, the reference must name a board."
    return Invalid(
        detail,
        code="monday_board",
        findings=[Finding("/board_id", detail, "monday_board")],
        suggestion="Give board_id, the number in the board's address.",
    )


def _too_many(what: str) -> TooLarge:
    return TooLarge(
        f"{what}, which is more than one refresh brings.",
        code="monday_too_many",
        suggestion="Set limit.",
    )
