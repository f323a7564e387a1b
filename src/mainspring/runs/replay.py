"""Replay: a new run with what an earlier one was given.

It has the payload and the inputs of the earlier run, in the version of then or in the one
in force now. A run that was refused for its inputs has none; they are then worked out once
more from the payload, so that a mended mapping or a mended schema can show itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from mainspring.contracts.errors import Clash, Missing
from mainspring.contracts.limits import Limits
from mainspring.definition.inputs import map_payload
from mainspring.runs.arrivals import Request
from mainspring.runs.dispatch import Dispatched, Dispatcher

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.access import Access

Which = Literal["same", "active"]

_EARLIER = """
    SELECT r.automation_id, r.version, r.trigger_type, r.trigger_id, r.payload, r.inputs,
        r.reason, r.mode, a.state, t.config, t.inputs AS static
    FROM runs r
    JOIN automations a ON a.workspace_id = r.workspace_id AND a.id = r.automation_id
    LEFT JOIN triggers t ON t.workspace_id = r.workspace_id AND t.id = r.trigger_id
    WHERE r.workspace_id = $1 AND r.id = $2
"""


async def replay(
    database: Access, dispatcher: Dispatcher, limits: Limits, workspace_id: UUID,
    run_id: UUID, *, version: Which = "same", inputs: Mapping[str, Any] | None = None,
) -> Dispatched:  # fmt: skip
    """Starts a new run with an earlier one's payload; other inputs may be given instead."""
    async with database.acquire() as connection:
        earlier = await _read(connection, workspace_id, run_id)
    if earlier["state"] == "archived":
        raise Clash("The automation of this run is archived.", code="archived")
    given, static = (inputs, {}) if inputs is not None else _inputs(earlier, limits)
    return await dispatcher.dispatch(
        Request(
            workspace_id=workspace_id,
            automation_id=earlier["automation_id"],
            trigger_type=earlier["trigger_type"],
            trigger_id=earlier["trigger_id"],
            inputs=given,
            static=static,
            payload={} if earlier["payload"] is None else earlier["payload"],
            version=earlier["version"] if version == "same" else None,
            replay_of=run_id,
            # Who tries out a trial once more does not mean it for real.
            mode=earlier["mode"],
        )
    )


async def _read(tx: Transaction, workspace_id: UUID, run_id: UUID) -> Mapping[str, Any]:
    row = await tx.fetchrow(_EARLIER, workspace_id, run_id)
    if row is None:
        raise Missing("There is no such run.", code="no_run")
    found: Mapping[str, Any] = row
    return found


def _inputs(
    earlier: Mapping[str, Any], limits: Limits
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """What a trigger gives and what it has of its own."""
    if earlier["reason"] != "invalid_inputs" or earlier["config"] is None:
        return earlier["inputs"] or {}, {}
    mapping = earlier["config"].get("input_mapping", {})
    return map_payload(mapping, earlier["payload"], limits), earlier["static"]
