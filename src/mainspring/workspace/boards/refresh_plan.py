"""What a refresh changes: rows that are there, and rows as the other side has them now.

A row is recognised by its key, and keeps its id for as long as the other side has it, also when
it went away and came back. Two rows of one answer with one key are one row, and that is told.
Without a key, a row is recognised by all that it says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from mainspring.definition.json_values import encode_canonical, is_same_value
from mainspring.workspace.boards.columns import SERVER_KEYS

MOST_TOLD: Final = 20
# Beyond it a float does not tell one whole number from the next.
_EXACT: Final = 2**53

BoardRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CurrentRow:
    """A row of the board: live, or deleted and known by its key."""

    row_id: UUID
    key: str | None
    data: BoardRow
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class RefreshPlan:
    """The fewest changes after which the board says what the other side says."""

    # Numbers of the new rows: those to append, and those that change a row.
    inserts: tuple[int, ...] = ()
    updates: Mapping[UUID, int] = field(default_factory=dict)
    restores: tuple[UUID, ...] = ()
    deletes: tuple[UUID, ...] = ()
    unchanged: int = 0
    # The numbers of new rows whose key an earlier one of the same answer has.
    doubles: tuple[int, ...] = ()

    @property
    def changes(self) -> bool:
        return bool(self.inserts or self.updates or self.restores or self.deletes)


def plan_refresh(
    old: Sequence[CurrentRow],
    rows: Sequence[BoardRow],
    keys: Sequence[str | None],
    spared: frozenset[str] = frozenset(),
) -> RefreshPlan:
    """How the old rows become the new ones.

    A row whose key is spared stays as it is: it is there over there, and could not be read now.
    """
    live = {one.key: one for one in old if one.key is not None and not one.deleted}
    gone = {one.key: one for one in old if one.key is not None and one.deleted}
    inserts, doubles, restores = [], [], []
    updates: dict[UUID, int] = {}
    seen: set[str] = set()
    met: set[UUID] = set()
    unchanged = 0
    for number, (row, key) in enumerate(zip(rows, keys, strict=True)):
        if key is None or key in seen:
            doubles.append(number)
            continue
        seen.add(key)
        before = live.get(key) or gone.get(key)
        if before is None:
            inserts.append(number)
            continue
        met.add(before.row_id)
        if before.deleted:
            restores.append(before.row_id)
        if not is_same_value(dict(before.data), dict(row)):
            updates[before.row_id] = number
        elif not before.deleted:
            unchanged += 1
    deletes = [
        one.row_id
        for one in old
        if not one.deleted and one.row_id not in met and one.key not in spared
    ]
    return RefreshPlan(
        tuple(inserts), updates, tuple(restores), tuple(deletes), unchanged, tuple(doubles)
    )


def compute_content_keys(rows: Sequence[BoardRow]) -> list[str]:
    """A key of all that a row says; two rows that say the same are the first and the second."""
    met: Counter[bytes] = Counter()
    keys = []
    for row in rows:
        said = encode_canonical(_normalize_numbers(dict(row)))
        met[said] += 1
        keys.append(f"{said.decode()}#{met[said]}")
    return keys


def _normalize_numbers(value: Any) -> Any:
    """A value in which 1.0 is 1: the database spells some numbers otherwise than it was given."""
    if isinstance(value, dict):
        return {name: _normalize_numbers(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_normalize_numbers(one) for one in value]
    whole = isinstance(value, float) and abs(value) < _EXACT and value.is_integer()
    return int(value) if whole else value


def choose_key_field(asked: str | None, usual: str, rows: Sequence[BoardRow]) -> str | None:
    """The field that tells rows apart; None where nobody named one and no row has the usual."""
    if asked is not None:
        return asked
    return usual if usual and any(row.get(usual) is not None for row in rows) else None


def choose_free_names(fields: Iterable[str]) -> dict[str, str]:
    """Other names for the fields over there that the board writes itself in each row."""
    taken = set(fields)
    found: dict[str, str] = {}
    for name in sorted(taken & SERVER_KEYS):
        free = f"{name}_"
        while free in taken:
            free += "_"
        found[name] = free
        taken.add(free)
    return found


def rename_key(row: BoardRow, source: str | None, target: str | None) -> dict[str, Any]:
    """A row with its key in the column where the board keeps it."""
    if source is None or target is None or source == target or source not in row:
        return dict(row)
    moved = {target: row[source]}
    return {**moved, **{name: value for name, value in row.items() if name not in (source, target)}}
