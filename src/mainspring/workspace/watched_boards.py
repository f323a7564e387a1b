"""The boards that triggers watch: what they are called, and which of them are not there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Finding

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_BOARDS = """
    SELECT id, name, archived_at IS NOT NULL AS archived FROM boards
    WHERE workspace_id = $1 AND id = ANY($2::uuid[])
"""


@dataclass(frozen=True, slots=True)
class WatchedBoard:
    """A board as a trigger finds it."""

    name: str
    archived: bool


async def load_watched_boards(
    tx: Transaction, workspace_id: UUID, triggers: Iterable[Mapping[str, Any]]
) -> dict[str, WatchedBoard]:
    """The boards of these triggers that there are, by their ids."""
    wanted = {
        board for trigger in triggers if (board := _get_watched_board_id(trigger)) is not None
    }
    if not wanted:
        return {}
    rows = await tx.fetch(_BOARDS, workspace_id, [UUID(board) for board in wanted])
    return {str(row["id"]): WatchedBoard(row["name"], row["archived"]) for row in rows}


async def find_missing_boards(
    tx: Transaction, workspace_id: UUID, document: Mapping[str, Any]
) -> tuple[Finding, ...]:
    """What is doubtful about the boards that a definition watches, each where it is named."""
    triggers = document.get("triggers", ())
    there = await load_watched_boards(tx, workspace_id, triggers)
    found = []
    for place, trigger in enumerate(triggers):
        board = _get_watched_board_id(trigger)
        if board is None or (board in there and not there[board].archived):
            continue
        at = f"/triggers/{place}/config/board_id"
        if board in there:
            detail = f"The board {there[board].name!r} is archived, so nothing changes in it."
            found.append(Finding(at, detail, "board_archived", "Bring the board back first."))
        else:
            detail = f"There is no board {board} here, so this trigger never goes off."
            way_out = "Name a board that is there, by its id."
            found.append(Finding(at, detail, "board_missing", way_out))
    return tuple(found)


def _get_watched_board_id(trigger: Mapping[str, Any]) -> str | None:
    """The board that a trigger watches, in the one spelling of its id."""
    if trigger.get("type") != "board_change":
        return None
    return str(UUID(str(trigger["config"]["board_id"])))
