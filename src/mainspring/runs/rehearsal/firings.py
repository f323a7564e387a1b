"""The firings of a rehearsal: the latest ones, and their inputs for another definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Problem
from mainspring.contracts.limits import Limits
from mainspring.definition.inputs import list_undeclared, map_payload
from mainspring.definition.model import Definition, TriggerEntry
from mainspring.definition.strict_json import is_same_value
from mainspring.runs.rows import FINAL
from mainspring.runs.run_requests import RunRequest

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# Trials and rehearsals are not firings.
_LAST = """
    SELECT r.id, r.status, r.reason, r.payload, r.inputs, t.slug,
        d.document -> 'triggers' AS triggers
    FROM runs r
    LEFT JOIN triggers t ON t.workspace_id = r.workspace_id AND t.id = r.trigger_id
    LEFT JOIN automation_versions v ON v.workspace_id = r.workspace_id
        AND v.automation_id = r.automation_id AND v.version = r.version
    LEFT JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE r.workspace_id = $1 AND r.automation_id = $2 AND r.mode = 'live'
      AND r.rehearsal_id IS NULL AND r.status = ANY($3::text[])
    ORDER BY r.id DESC LIMIT $4
"""
_ANY = """
    SELECT 1 AS found FROM runs
    WHERE workspace_id = $1 AND automation_id = $2 AND mode = 'live' AND rehearsal_id IS NULL
      AND status = ANY($3::text[]) LIMIT 1
"""
_GONE: Final = "The trigger that started it, {slug!r}, does not exist in the tested definition."
_OFF: Final = "The trigger that started it, {slug!r}, is disabled in the tested definition."


@dataclass(frozen=True, slots=True)
class RecordedFiring:
    """An earlier firing."""

    run_id: UUID
    status: str
    reason: str | None
    payload: Any
    inputs: Mapping[str, Any]
    # The trigger's id in the definition, and the triggers as they were.
    slug: str | None
    triggers: Sequence[Mapping[str, Any]]

    @property
    def started(self) -> bool:
        """Whether there was a run that can be rehearsed."""
        return self.status != "skipped"


async def last_firings(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, most: int
) -> list[RecordedFiring]:
    """The last ended ones, oldest first."""
    rows = await tx.fetch(_LAST, workspace_id, automation_id, sorted(FINAL), most)
    return [
        RecordedFiring(
            row["id"],
            row["status"],
            row["reason"],
            {} if row["payload"] is None else row["payload"],
            row["inputs"] or {},
            row["slug"],
            row["triggers"] or (),
        )
        for row in reversed(rows)
    ]


async def has_fired(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> bool:
    """Whether there is anything to rehearse."""
    return await tx.fetchrow(_ANY, workspace_id, automation_id, sorted(FINAL)) is not None


def request_of(
    firing: RecordedFiring,
    definition: Definition,
    limits: Limits,
    *,
    workspace_id: UUID,
    automation_id: UUID,
    run_id: UUID,
    rehearsal_id: UUID,
    parent_id: UUID | None,
) -> RunRequest:
    """The request of a rehearsal run; a problem with its payload is how that run ends."""
    problem: Problem | None = None
    inputs: Mapping[str, Any] = {}
    static: Mapping[str, Any] = {}
    try:
        inputs, static = map_firing_inputs(firing, definition, limits)
    except Problem as wrong:
        problem = wrong
    return RunRequest(
        workspace_id,
        automation_id,
        inputs=inputs,
        static=static,
        payload=firing.payload,
        problem=problem,
        mode="dry_run",
        run_id=run_id,
        rehearsal_id=rehearsal_id,
        rehearses=firing.run_id,
        parent_id=parent_id,
    )


def map_firing_inputs(
    firing: RecordedFiring, definition: Definition, limits: Limits
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The inputs of a firing for another definition: from its payload, and from its trigger.

    Where the trigger is unchanged, these are the original inputs, with their times. Where its
    mapping differs, or its inputs were invalid, they are mapped again.
    """
    entry = _entry(firing, definition)
    if entry is not None and (firing.reason == "invalid_inputs" or _maps_anew(firing, entry)):
        mapping = entry.config.get("input_mapping", {})
        return map_payload(mapping, firing.payload, limits), entry.inputs
    shape = definition.inputs.shape
    left_out = set(list_undeclared(firing.inputs, shape))
    return {name: value for name, value in firing.inputs.items() if name not in left_out}, {}


def note_on(firing: RecordedFiring, definition: Definition) -> str | None:
    """A note that the candidate would not have been triggered by this."""
    entry = _entry(firing, definition)
    if firing.slug is None or (entry is not None and entry.enabled):
        return None
    return (_GONE if entry is None else _OFF).format(slug=firing.slug[:60])


def _entry(firing: RecordedFiring, definition: Definition) -> TriggerEntry | None:
    return next((one for one in definition.triggers if one.id == firing.slug), None)


def _maps_anew(firing: RecordedFiring, entry: TriggerEntry) -> bool:
    before = next((one for one in firing.triggers if one.get("id") == firing.slug), None)
    if before is None:
        return False
    was = (before.get("config") or {}).get("input_mapping", {})
    return not (
        is_same_value(was, entry.config.get("input_mapping", {}))
        and is_same_value(before.get("inputs") or {}, dict(entry.inputs))
    )
