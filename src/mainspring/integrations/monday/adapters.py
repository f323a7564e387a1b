"""The rows of monday.com for boards: the items of one of its boards, and its boards themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Finding, Invalid, TooLarge
from mainspring.contracts.integration import Adapter, Operation
from mainspring.contracts.object_schema import build_object_schema
from mainspring.integrations.monday.client import Monday
from mainspring.integrations.monday.reading import (
    BOARD,
    OWN,
    build_board_row,
    build_item_row,
    name_columns,
)

MOST_ROWS: Final = 5_000
_REF: Final = build_object_schema(
    {
        "board_id": {
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
            "description": "Whether columns are called by their titles, or by their ids, which "
            "stay the same when somebody changes a title.",
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
    """The adapter over one monday.com."""

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
                "The items of the board. Beside the columns told here, each column of the board "
                "is one.",
                _ITEM_PARAMS,
                items,
                OWN,
            ),
            Operation(
                "monday.list_boards",
                "The boards that the connected account sees.",
                _BOARD_PARAMS,
                boards,
                BOARD,
            ),
        ),
    )


def normalize_board_ref(ref: Mapping[str, Any]) -> dict[str, str]:
    """The board's number as text, as monday.com writes it."""
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
