"""Detecting automations that write to the same place, before another one is saved.

Two automations overlap strictly when they write the same list field of the same board and can be
started by the same trigger: their rows may be duplicated. Others on the same board, and similar
ones, are reported as advice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.authoring.similarity import Measure, TextSimilarity
from mainspring.authoring.trigger_kinds import TriggerSelector, wakes_of
from mainspring.contracts.capability import Effect
from mainspring.contracts.errors import Conflict, Finding, NotFound
from mainspring.contracts.registry import Vocabulary

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

MOST_MATCHES: Final = 100
_MOST_LIKE: Final = 5
_LOOKED_AT: Final = 5_000
_COMPARED: Final = 500

_BOARDS = """
    SELECT id, archived_at IS NOT NULL AS archived FROM boards
    WHERE workspace_id = $1 AND id = ANY($2::uuid[])
"""
# A plan names the boards that its steps write; a script declares them next to its source.
_ALIVE = """
    SELECT a.id, a.name, a.state, a.created_by, u.email, v.grants, l.at AS last_run_at,
        d.document ->> 'description' AS description, d.document ->> 'intent' AS intent,
        d.document ->> 'goal' AS goal, d.document -> 'writes' AS writes,
        d.document -> 'triggers' AS triggers,
        jsonb_path_query_array(
            (d.document -> 'plan')::jsonb, '$.** ? (@.action == $names[*]).config.board_id',
            jsonb_build_object('names', $2::text[])
        ) AS boards
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id
        AND v.automation_id = a.id AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    LEFT JOIN users u ON u.id = a.created_by
    LEFT JOIN LATERAL (
        SELECT coalesce(r.started_at, r.created_at) AS at FROM runs r
        WHERE r.workspace_id = a.workspace_id AND r.automation_id = a.id
          AND r.rehearsal_id IS NULL
        ORDER BY r.id DESC LIMIT 1
    ) AS l ON true
    WHERE a.workspace_id = $1 AND a.state <> 'archived'
    ORDER BY a.id DESC LIMIT $3
"""


@dataclass(frozen=True, slots=True)
class ExistingAutomation:
    """An automation that is not archived, as far as it is compared."""

    id: UUID
    name: str
    description: str | None
    state: str
    owner_id: UUID
    owner_email: str | None
    last_run_at: str | None
    boards: frozenset[str]
    target: str | None
    key: str | None
    wakes: tuple[TriggerSelector, ...]
    about: str

    def describe(self, member_id: UUID, *, strict: bool) -> dict[str, Any]:
        """Its description, enough to decide between extending it, adding another, and
        cancelling."""
        return {
            "automation_id": str(self.id),
            "owner_email": self.owner_email,
            "is_self": self.owner_id == member_id,
            "name": self.name,
            "description": self.description,
            "state": self.state,
            "last_run_at": self.last_run_at,
            "writes_to_boards": sorted(self.boards),
            "dedupe_target_field": self.target,
            "dedupe_key_field": self.key,
            "trigger_kinds": sorted({wake.kind for wake in self.wakes}),
            "trigger_types": sorted({one for wake in self.wakes for one in wake.types}),
            "strict_overlap": strict,
        }


@dataclass(frozen=True, slots=True)
class OverlapQuery:
    """What is about to be saved, as far as known."""

    boards: frozenset[str]
    target: str | None = None
    # None: not known yet, so any trigger may coincide.
    wakes: tuple[TriggerSelector, ...] | None = None
    # The edited automation does not overlap with itself.
    excluded_id: UUID | None = None

    def shares_board(self, other: ExistingAutomation) -> bool:
        return other.id != self.excluded_id and bool(self.boards & other.boards)

    def overlaps_strictly(self, other: ExistingAutomation) -> bool:
        """Whether board, list field and a trigger coincide."""
        if not self.shares_board(other) or self.target != other.target:
            return False
        return self.wakes is None or any(
            mine.overlaps(theirs) for mine in self.wakes for theirs in other.wakes
        )


async def check_boards(
    tx: Transaction, workspace_id: UUID, boards: Sequence[str], *, writing: bool = True
) -> None:
    """Reject boards that the caller cannot see or that nobody can write."""
    rows = await tx.fetch(_BOARDS, workspace_id, [UUID(board) for board in boards])
    archived = {row["id"]: row["archived"] for row in rows}
    findings = []
    for place, board in enumerate(boards):
        at = f"/writes_to_boards/{place}"
        if UUID(board) not in archived:
            detail = f"There is no board {board} here."
            findings.append(Finding(at, detail, "no_board", "list_boards shows what there is."))
        elif writing and archived[UUID(board)]:
            detail = f"The board {board} is archived, so nothing can be written to it."
            findings.append(Finding(at, detail, "board_archived", "Bring the board back first."))
    if findings:
        kind = NotFound if any(one.code == "no_board" for one in findings) else Conflict
        raise kind(findings[0].detail, code=findings[0].code, findings=findings)


async def living(
    tx: Transaction, workspace_id: UUID, natives: Vocabulary
) -> list[ExistingAutomation]:
    """List automations that are not archived, newest first.

    External tools write no boards here, so only built-in capabilities are checked.
    """
    writing = sorted(writers(natives))
    rows = await tx.fetch(_ALIVE, workspace_id, writing, _LOOKED_AT)
    return [_read(row, frozenset(writing)) for row in rows]


def writers(vocabulary: Vocabulary) -> frozenset[str]:
    """List what writes to a board, by its id."""
    return frozenset(
        name
        for name, one in vocabulary.capabilities.items()
        if one.annotations.effect is Effect.KEEP and "board_id" in _properties(one.input_schema)
    )


def boards_written(document: Any, writing: Collection[str]) -> frozenset[str]:
    """Return the boards that a document's steps write, nested ones included, tolerantly."""
    found: set[str] = set()
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            found.update(_list_named_targets(value, writing))
            waiting += [one for one in value.values() if isinstance(one, (Mapping, list))]
        elif isinstance(value, list):
            waiting += [one for one in value if isinstance(one, (Mapping, list))]
    return frozenset(found)


def _list_named_targets(entry: Mapping[str, Any], writing: Collection[str]) -> Iterator[str]:
    """A step by its config; a grant or an agent's tool by its fixed arguments."""
    for name, given in (("action", "config"), ("capability", "params"), ("tool", "params")):
        called, arguments = entry.get(name), entry.get(given)
        if isinstance(called, str) and called in writing and isinstance(arguments, Mapping):
            named = arguments.get("board_id")
            for one in named if isinstance(named, list) else [named]:
                board = _board(one)
                if board is not None:
                    yield board


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = schema.get("properties", {})
    return found


def _read(row: Any, writing: Collection[str]) -> ExistingAutomation:
    writes = row["writes"] or {}
    named = [*writes.get("boards", ()), *(row["boards"] or ())]
    for grant in row["grants"]:
        pinned = grant["params"].get("board_id")
        if grant["capability"] in writing and pinned is not None:
            named += pinned if isinstance(pinned, list) else [pinned]
    texts = (row["intent"], row["description"], row["goal"], row["name"])
    return ExistingAutomation(
        row["id"],
        row["name"],
        row["description"],
        row["state"],
        row["created_by"],
        row["email"],
        row["last_run_at"].isoformat() if row["last_run_at"] else None,
        frozenset(board for one in named if (board := _board(one)) is not None),
        writes.get("dedupe_target_field"),
        writes.get("dedupe_key_field"),
        wakes_of(row["triggers"]),
        next(text for text in texts if text),
    )


def _board(text: Any) -> str | None:
    """Normalize a board id; None for a template."""
    try:
        return str(UUID(str(text)))
    except ValueError:
        return None


async def alike(
    likeness: TextSimilarity,
    workspace_id: UUID,
    about: str | None,
    others: Sequence[ExistingAutomation],
) -> tuple[list[ExistingAutomation], Measure]:
    """Return similar automations, most similar first, with the method used."""
    if not about:
        return [], likeness.measure
    asked = others[:_COMPARED]
    texts = [one.about for one in asked]
    found = await likeness.near(workspace_id, about, texts, _MOST_LIKE)
    return [asked[one.place] for one in found.near], found.by
