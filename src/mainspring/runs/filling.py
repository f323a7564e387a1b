"""What a run is given: inputs filled in and judged, and the lane that follows from them.

It is worked out from the request, the version and nothing else, so it can be done ahead of
the transaction that accepts the run; a costly schema then holds up its own runs alone.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Invalid, NotFound, Problem
from mainspring.contracts.limits import Limits
from mainspring.definition.inputs import (
    LAST_FIRED_AT,
    RuntimeTokens,
    check_declared,
    resolve_inputs,
)
from mainspring.definition.json_text import check_value, encode_canonical
from mainspring.definition.templates import parse_template
from mainspring.runs.admission import AdmissionRefusal
from mainspring.runs.arrivals import PreparedRun, RunRequest
from mainspring.runs.engine import LoadedVersion
from mainspring.runs.lanes import lane_of

if TYPE_CHECKING:
    from mainspring.store.database import Database

# A schema of more than this may take long to judge by; its inputs are judged on a thread.
_HEAVY_BYTES: Final = 4_096
# How old a fact about an automation may be: what is taken is checked against the row anyway, and
# one that proves wrong is forgotten.
_FACT_SECONDS: Final = 60.0
_MOST_FACTS: Final = 5_000

_FACTS: Final = "SELECT version, created_at FROM automations WHERE workspace_id = $1 AND id = $2"


@dataclass(frozen=True, slots=True)
class ActiveVersion:
    """The version in force a moment ago, and when the automation was made."""

    version: int
    created_at: datetime


class ActiveVersionCache:
    """Facts about automations, each read at most once in a while."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: OrderedDict[tuple[UUID, UUID], tuple[float, ActiveVersion]] = OrderedDict()

    async def of(self, workspace_id: UUID, automation_id: UUID) -> ActiveVersion:
        key = (workspace_id, automation_id)
        now = time.monotonic()
        found = self._kept.get(key)
        if found is not None and now - found[0] < _FACT_SECONDS:
            return found[1]
        row = await self._database.fetchrow(_FACTS, *key)
        if row is None:
            raise NotFound("There is no such automation.", code="no_automation")
        fact = ActiveVersion(row["version"], row["created_at"])
        self._kept[key] = (now, fact)
        self._kept.move_to_end(key)
        if len(self._kept) > _MOST_FACTS:
            self._kept.popitem(last=False)
        return fact

    def forget(self, workspace_id: UUID, automation_id: UUID) -> None:
        """For whoever found that it is not so any more."""
        self._kept.pop((workspace_id, automation_id), None)


def is_heavy(loaded: LoadedVersion) -> bool:
    """Whether judging inputs may take long."""
    return loaded.inputs_bytes > _HEAVY_BYTES


def fill(
    request: RunRequest, loaded: LoadedVersion, version: int, created_at: datetime, limits: Limits
) -> PreparedRun:
    """Inputs and lane; what is wrong with a trigger's payload becomes a failed run."""
    try:
        if request.problem is not None:
            raise request.problem
        _check_size(request, limits)
        # A trigger's inputs were judged with the definition, a replay's with their first run.
        earlier = request.replay_of or request.rehearses
        if request.trigger_type == "manual" and earlier is None:
            check_declared(request.inputs, loaded.program.definition.inputs.shape)
        inputs, timed = _inputs(request, loaded, created_at)
        return PreparedRun(version, inputs, _lane(request, inputs, loaded, limits), timed=timed)
    except Problem as problem:
        if request.by_hand and request.rehearses is None:
            raise
        return PreparedRun(
            version, {}, None, AdmissionRefusal("failed", "invalid_inputs", "failed", problem)
        )


def _check_size(request: RunRequest, limits: Limits) -> None:
    payload = None if request.measured else request.payload
    for name, value in (("payload", payload), ("inputs", request.inputs)):
        if not value:
            continue
        check_value(value, limits)
        if len(encode_canonical(value)) > limits.payload_bytes:
            raise Invalid(
                f"The {name} must not be larger than {limits.payload_bytes} bytes.",
                code="payload_too_large",
            )


def _inputs(
    request: RunRequest, loaded: LoadedVersion, created_at: datetime
) -> tuple[Mapping[str, Any], bool]:
    """The inputs, and whether the moment of the last firing is among them."""
    tokens = RuntimeTokens(
        last_fired_at=request.last_fired_at,
        created_at=created_at,
        creator=str(loaded.created_by),
        space=str(request.workspace_id),
    )
    shape = loaded.program.definition.inputs.shape
    inputs = resolve_inputs(shape, request.static, request.inputs, tokens)
    return inputs, LAST_FIRED_AT in tokens.asked


def _lane(
    request: RunRequest, inputs: Mapping[str, Any], loaded: LoadedVersion, limits: Limits
) -> int | None:
    execution = loaded.program.execution
    if execution.concurrency == "allow_parallel" or request.rehearsal_id is not None:
        return None
    key = None
    if execution.concurrency_key is not None:
        template = parse_template(execution.concurrency_key, limits)
        names = {"inputs": inputs, "trigger": request.payload}
        key = str(template.render(names))
    return lane_of(request.automation_id, key)
