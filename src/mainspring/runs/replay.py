"""Replay: a new run with the payload and inputs of an earlier one.

It uses the version of the earlier run or the active one. A run that was rejected for its inputs has
none; they are then computed again from the payload, so that a fixed mapping or schema takes effect.

An old version runs with its owner's secrets and its old grants. Only the owner may replay one that
can do more than the active version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, NotFound, PermissionDenied
from mainspring.contracts.limits import Limits
from mainspring.definition.forms import FORM
from mainspring.definition.grants import find_missing_grants
from mainspring.definition.inputs import map_payload
from mainspring.gate.policy import Mode
from mainspring.runs.dispatch import Dispatcher, DispatchResult
from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.automation_resources import check_not_widened
from mainspring.workspace.automations import read_grants
from mainspring.workspace.repeat_consents import check_may_repeat
from mainspring.workspace.versions import read_version

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, Transaction
    from mainspring.store.access import DatabaseAccess

Which = Literal["same", "active"]

_EARLIER = """
    SELECT r.automation_id, r.version, r.trigger_type, r.trigger_id, r.payload, r.inputs,
        r.reason, r.mode, a.state, a.version AS in_force, a.created_by, t.config,
        t.inputs AS static
    FROM runs r
    JOIN automations a ON a.workspace_id = r.workspace_id AND a.id = r.automation_id
    LEFT JOIN triggers t ON t.workspace_id = r.workspace_id AND t.id = r.trigger_id
    WHERE r.workspace_id = $1 AND r.id = $2
"""


async def replay(
    database: DatabaseAccess,
    dispatcher: Dispatcher,
    limits: Limits,
    workspace_id: UUID,
    run_id: UUID,
    *,
    version: Which = "same",
    inputs: Mapping[str, Any] | None = None,
    payload: Any = None,
    mode: Mode | None = None,
    by: Actor | None = None,
) -> DispatchResult:
    """Start a new run with an earlier one's payload; payload or inputs may be replaced.

    ``by`` is the caller; None means the local owner.
    """
    asked_by = None if by is None else by.id
    async with database.acquire() as connection:
        earlier = await _read(connection, workspace_id, run_id)
        if earlier["state"] == "archived":
            raise Conflict("The automation of this run is archived.", code="archived")
        if version == "same" and asked_by not in (None, earlier["created_by"]):
            await _check_not_withdrawn(connection, workspace_id, earlier)
        if version == "same":
            await check_may_repeat(connection, workspace_id, run_id, by, mode)
    given, static = (inputs, {}) if inputs is not None else _inputs(earlier, payload, limits)
    return await dispatcher.dispatch(
        RunRequest(
            workspace_id=workspace_id,
            automation_id=earlier["automation_id"],
            trigger_type=earlier["trigger_type"],
            trigger_id=earlier["trigger_id"],
            inputs=given,
            static=static,
            payload=_payload(earlier, payload),
            version=earlier["version"] if version == "same" else None,
            replay_of=run_id,
            # A replay of a trial is a trial.
            mode=earlier["mode"] if mode is None else mode,
        )
    )


async def _check_not_withdrawn(
    tx: Transaction, workspace_id: UUID, earlier: Mapping[str, Any]
) -> None:
    """Refuse a version that may do what the active one may not."""
    if earlier["version"] == earlier["in_force"]:
        return
    place = (workspace_id, earlier["automation_id"])
    old = await read_version(tx, *place, earlier["version"])
    now = await read_version(tx, *place, earlier["in_force"])
    widened = find_missing_grants(read_grants(old["grants"]), read_grants(now["grants"]))
    check_not_widened(now["definition"], old["definition"], widened)
    if widened:
        raise PermissionDenied(
            "This run's version has permissions that the active version does not have.",
            code="grants_withdrawn",
            findings=[
                Finding("/version", f"It may call {one.capability} in other ways.", "grant_widened")
                for one in widened
            ],
            suggestion=(
                "Replay it with the active version, or ask the automation's owner to replay it."
            ),
        )


async def _read(tx: Transaction, workspace_id: UUID, run_id: UUID) -> Mapping[str, Any]:
    row = await tx.fetchrow(_EARLIER, workspace_id, run_id)
    if row is None:
        raise NotFound("There is no such run.", code="no_run")
    found: Mapping[str, Any] = row
    return found


def _payload(earlier: Mapping[str, Any], other: Any) -> Any:
    if other is not None:
        return other
    return {} if earlier["payload"] is None else earlier["payload"]


def _inputs(
    earlier: Mapping[str, Any], payload: Any, limits: Limits
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The inputs from the trigger's payload and config; another payload gives other inputs."""
    again = payload is not None or earlier["reason"] == "invalid_inputs"
    if not again or earlier["config"] is None:
        return earlier["inputs"] or {}, {}
    if earlier["trigger_type"] == FORM:
        sent = _payload(earlier, payload)
        values = sent.get("values") if isinstance(sent, Mapping) else None
        return values if isinstance(values, Mapping) else {}, earlier["static"]
    mapping = earlier["config"].get("input_mapping", {})
    return map_payload(mapping, _payload(earlier, payload), limits), earlier["static"]
