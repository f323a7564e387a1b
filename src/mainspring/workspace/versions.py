"""Versions: history of an automation, differences, and rollback.

Versions are immutable. ``rollback`` adds a new version with the content of an old one, so the
history stays linear. ``use_version`` makes the old version current without adding one; runs refer
to it by its own number.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid5

from mainspring.contracts.errors import NotFound
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.grants import find_missing_grants
from mainspring.definition.strict_json import is_same_value, join_pointer
from mainspring.definition.traits import read_traits
from mainspring.definition.validate import read_definition
from mainspring.workspace.automation_states import check_usable
from mainspring.workspace.automations import (
    SavedAutomation,
    VersionContent,
    lock_automation,
    lock_names,
    make_version_current,
    no_automation_error,
    put_version,
    read_grants,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# Structural diff of two definitions.

DefinitionChange = dict[str, Any]

# Keys that identify list entries, in order of preference.
_NAMES: Final = ("step_id", "id")


def list_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[DefinitionChange]:
    """List every difference: add, remove, replace or move, with old and new values."""
    return list(_diff_values(before, after, "", ""))


def _diff_values(before: Any, after: Any, was: str, now: str) -> Iterator[DefinitionChange]:
    if is_same_value(before, after):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _diff_objects(before, after, was, now)
        return
    if isinstance(before, list) and isinstance(after, list):
        name = _name_of(before, after)
        if name is not None:
            yield from _diff_named_entries(before, after, was, now, name)
            return
    yield {"op": "replace", "pointer": now, "before": before, "after": after}


def _diff_objects(
    before: Mapping[str, Any], after: Mapping[str, Any], was: str, now: str
) -> Iterator[DefinitionChange]:
    for key, value in before.items():
        if key in after:
            yield from _diff_values(
                value, after[key], join_pointer(was, key), join_pointer(now, key)
            )
        else:
            yield {"op": "remove", "pointer": join_pointer(was, key), "before": value}
    for key, value in after.items():
        if key not in before:
            yield {"op": "add", "pointer": join_pointer(now, key), "after": value}


def _diff_named_entries(
    before: Sequence[Any], after: Sequence[Any], was: str, now: str, name: str
) -> Iterator[DefinitionChange]:
    old = {entry[name]: place for place, entry in enumerate(before)}
    new = {entry[name]: place for place, entry in enumerate(after)}
    for key, place in old.items():
        if key not in new:
            yield {"op": "remove", "pointer": join_pointer(was, place), "before": before[place]}
    kept = [key for key in new if key in old]
    settled = _find_longest_order([old[key] for key in kept])
    for key, place in new.items():
        here = join_pointer(now, place)
        if key not in old:
            yield {"op": "add", "pointer": here, "after": after[place]}
            continue
        there = join_pointer(was, old[key])
        if old[key] not in settled:
            yield {"op": "move", "pointer": here, "from": there}
        yield from _diff_values(before[old[key]], after[place], there, here)


def _name_of(before: Sequence[Any], after: Sequence[Any]) -> str | None:
    """Find the key that identifies every entry of both lists uniquely."""
    for name in _NAMES:
        if all(_are_all_named(entries, name) for entries in (before, after)):
            return name
    return None


def _are_all_named(entries: Sequence[Any], name: str) -> bool:
    found = [entry.get(name) if isinstance(entry, Mapping) else None for entry in entries]
    return all(isinstance(entry, str) for entry in found) and len(set(found)) == len(found)


def _find_longest_order(places: Sequence[int]) -> set[int]:
    """Find the longest increasing subsequence; the other entries are the ones that moved."""
    ends: list[int] = []
    before: list[tuple[int, int]] = []
    for place in places:
        length = bisect_left(ends, place)
        ends[length : length + 1] = [place]
        before.append((length, place))
    settled: set[int] = set()
    wanted = len(ends) - 1
    last = max(places, default=0) + 1
    for length, place in reversed(before):
        if length == wanted and place < last:
            settled.add(place)
            last, wanted = place, wanted - 1
    return settled


# Garbage collection of unreferenced definitions.

# Conflicts with every INSERT, also one that hits ON CONFLICT, but with no reader.
_HOLD = "LOCK TABLE definitions IN SHARE ROW EXCLUSIVE MODE"
_FORGET = """
    DELETE FROM definitions d
    USING (SELECT DISTINCT * FROM unnest($1::uuid[], $2::bytea[]) AS one(workspace_id, hash)) AS old
    WHERE d.workspace_id = old.workspace_id AND d.hash = old.hash
      AND NOT EXISTS (
        SELECT 1 FROM automation_versions v
        WHERE v.workspace_id = d.workspace_id AND v.definition_hash = d.hash)
      AND NOT EXISTS (
        SELECT 1 FROM rehearsals h
        WHERE h.workspace_id = d.workspace_id AND h.definition_hash = d.hash)
"""


async def delete_unused_definitions(tx: Transaction, hashes: Sequence[tuple[UUID, bytes]]) -> None:
    """Delete those of these definitions that no version and no rehearsal references."""
    if not hashes:
        return
    await tx.execute(_HOLD)
    # Only after locking, so that it sees the references of every earlier save.
    await tx.execute(_FORGET, [space for space, _ in hashes], [digest for _, digest in hashes])


_LIST = """
    SELECT v.version, v.definition_hash, v.author, v.created_at, v.rollback_of,
        v.version = a.version AS in_force
    FROM automation_versions v
    JOIN automations a ON a.workspace_id = v.workspace_id AND a.id = v.automation_id
    WHERE v.workspace_id = $1 AND v.automation_id = $2 AND ($3::int IS NULL OR v.version < $3)
    ORDER BY v.version DESC LIMIT $4
"""
_READ = """
    SELECT v.version, v.definition_hash, v.author, v.created_at, v.rollback_of,
        v.version = a.version AS in_force, v.grants, d.document AS definition
    FROM automation_versions v
    JOIN automations a ON a.workspace_id = v.workspace_id AND a.id = v.automation_id
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE v.workspace_id = $1 AND v.automation_id = $2 AND v.version = $3
"""
_NUMBERS = """
    SELECT version FROM automation_versions
    WHERE workspace_id = $1 AND automation_id = $2 ORDER BY version DESC
"""
_THERE = "SELECT id FROM automations WHERE workspace_id = $1 AND id = $2"
# The maximum of the integer column.
_LARGEST = 2**31 - 1


async def list_versions(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    *,
    after: int | None = None,
    most: int = 50,
) -> list[dict[str, Any]]:
    """List versions, newest first, without content."""
    await _check_there(tx, workspace_id, automation_id)
    rows = await tx.fetch(_LIST, workspace_id, automation_id, after, most)
    return [_format_version(automation_id, row) for row in rows]


async def read_version(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, version: int
) -> dict[str, Any]:
    """Load a version exactly as it was saved."""
    return _format_version(
        automation_id, await _load_version_row(tx, workspace_id, automation_id, version)
    )


async def diff(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, before: int, after: int
) -> dict[str, Any]:
    """Diff two versions, and their grants."""
    old = await _load_version_row(tx, workspace_id, automation_id, before)
    new = await _load_version_row(tx, workspace_id, automation_id, after)
    # In a thread: diffing two large definitions is slow.
    found = await asyncio.to_thread(_describe_differences, old, new)
    return {"from": before, "to": after, **found}


def _describe_differences(old: Any, new: Any) -> dict[str, Any]:
    were, are = read_grants(old["grants"]), read_grants(new["grants"])
    return {
        "changes": list_changes(old["definition"], new["definition"]),
        "widened": [grant.as_dict() for grant in find_missing_grants(are, were)],
        "narrowed": [grant.as_dict() for grant in find_missing_grants(were, are)],
    }


async def rollback(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    version: int,
    author: UUID,
    vocabulary: Vocabulary,
    limits: Limits,
) -> SavedAutomation:
    """Validate an earlier version and make a new version from it."""
    content = await validate_version(tx, workspace_id, automation_id, version, vocabulary, limits)
    return await restore_version(tx, workspace_id, automation_id, version, content, author)


async def validate_version(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    version: int,
    vocabulary: Vocabulary,
    limits: Limits,
) -> VersionContent:
    """Validate a version's content against the current registry, as the automation may be active.

    This is slow and takes no locks; a version never changes.
    """
    old = await _load_version_row(tx, workspace_id, automation_id, version)
    await check_usable(old["definition"], automation_id, vocabulary, limits)
    definition = await asyncio.to_thread(read_definition, old["definition"])
    document = definition.as_dict()
    traits = await asyncio.to_thread(read_traits, document, read_grants(old["grants"]), vocabulary)
    return VersionContent(definition, old["definition_hash"], old["grants"], traits)


async def restore_version(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    version: int,
    content: VersionContent,
    author: UUID,
) -> SavedAutomation:
    """Add an earlier version as a new one, with its definition, grants, triggers and name."""
    await lock_names(tx, workspace_id)
    row = await lock_automation(tx, workspace_id, automation_id)
    return await put_version(tx, workspace_id, row, content, author, rollback_of=version)


async def use_version(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    version: int,
    content: VersionContent,
    author: UUID,
) -> SavedAutomation:
    """Make an earlier version current again, with its triggers and name."""
    await lock_names(tx, workspace_id)
    row = await lock_automation(tx, workspace_id, automation_id)
    return await make_version_current(tx, workspace_id, row, version, content, author)


def compute_version_id(automation_id: UUID, version: int) -> UUID:
    """Derive a version's id from automation id and number, for APIs that use ids."""
    return uuid5(automation_id, f"version {version}")


async def find_version(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, wanted: UUID
) -> int | None:
    """Return the number of the version with this id; None when it belongs to another automation."""
    rows = await tx.fetch(_NUMBERS, workspace_id, automation_id)
    numbers = (int(row["version"]) for row in rows)
    return next((one for one in numbers if compute_version_id(automation_id, one) == wanted), None)


async def _load_version_row(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, version: int
) -> Any:
    inside = 0 < version <= _LARGEST
    row = await tx.fetchrow(_READ, workspace_id, automation_id, version) if inside else None
    if row is None:
        await _check_there(tx, workspace_id, automation_id)
        raise NotFound(f"The automation has no version {version}.", code="no_version")
    return row


async def _check_there(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> None:
    if await tx.fetchrow(_THERE, workspace_id, automation_id) is None:
        raise no_automation_error()


def _format_version(automation_id: UUID, row: Any) -> dict[str, Any]:
    return {
        **dict(row),
        "version_id": compute_version_id(automation_id, row["version"]),
        "definition_hash": row["definition_hash"].hex(),
    }
