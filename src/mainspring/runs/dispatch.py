"""Dispatch: a firing becomes a run row, or a record of why it did not.

One transaction holds everything that makes a run accepted: the key that stops a second
run for the same moment, the place in its lane, and the row itself. Waking a worker comes
after the commit and is only a hint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Invalid, Missing, Problem
from mainspring.contracts.ids import new_id
from mainspring.contracts.limits import Limits
from mainspring.definition.inputs import Tokens, resolve_inputs
from mainspring.definition.json_text import canonical, check_value
from mainspring.definition.templates import parse_template
from mainspring.runs.admission import (
    DROPPED,
    PAUSED,
    Allowance,
    Chain,
    Refusal,
    read_allowances,
    read_chains,
)
from mainspring.runs.arrivals import NewRun, Request, insert_runs, one_per_key, take_keys
from mainspring.runs.engine import LoadedVersion
from mainspring.runs.lanes import Lane, lane_of, lock_lanes, occupied
from mainspring.runs.versions import Versions
from mainspring.store.database import Database
from mainspring.store.wake import Waker

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

RUNS_CHANNEL = "mainspring_runs"

_AUTOMATIONS = """
    SELECT id, version, state, created_at FROM automations
    WHERE workspace_id = $1 AND id = ANY($2::uuid[])
"""


@dataclass(frozen=True, slots=True)
class Dispatched:
    """The run that stands for a request."""

    run_id: UUID
    status: str
    reason: str | None = None
    existed: bool = False


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What the database says about the automations of a batch."""

    automations: Mapping[UUID, Mapping[str, Any]]
    allowances: Mapping[UUID, Allowance]
    chains: Mapping[UUID, Chain]


class Dispatcher:
    """Turns requests into runs; any number of processes may do so at once."""

    def __init__(
        self, database: Database, versions: Versions, waker: Waker, limits: Limits
    ) -> None:
        self._database = database
        self._versions = versions
        self._waker = waker
        self._limits = limits

    async def dispatch(self, request: Request) -> Dispatched:
        """One request; a person's bad inputs are answered, a trigger's are recorded."""
        (made,) = await self.dispatch_all([request])
        return made

    async def dispatch_all(self, requests: Sequence[Request]) -> list[Dispatched]:
        """Requests of one workspace, accepted together or not at all."""
        async with self._database.acquire() as connection:
            around = await self._look(connection, requests)
        judged = [await self._judge(request, around) for request in requests]
        async with self._database.transaction() as tx:
            made = await self._accept(tx, judged)
        if any(run.status == "pending" for run in made):
            self._waker.wake(RUNS_CHANNEL)
        return made

    async def _look(self, tx: Transaction, requests: Sequence[Request]) -> _Surroundings:
        workspace_id = requests[0].workspace_id
        wanted = list({request.automation_id for request in requests})
        parents = list({r.parent_id for r in requests if r.parent_id is not None})
        rows = await tx.fetch(_AUTOMATIONS, workspace_id, wanted)
        return _Surroundings(
            {row["id"]: row for row in rows},
            await read_allowances(tx, workspace_id, wanted),
            await read_chains(tx, workspace_id, parents),
        )

    async def _judge(self, request: Request, around: _Surroundings) -> NewRun:
        row = around.automations.get(request.automation_id)
        if row is None or row["state"] == "archived":
            raise Missing("There is no such automation.", code="no_automation")
        loaded = await self._versions.get(
            request.workspace_id, request.automation_id, row["version"]
        )
        chain = Chain()
        if request.parent_id is not None:
            chain = around.chains.get(request.parent_id, chain)
        refusal = self._refusal(request, row, loaded, around, chain)
        inputs, lane, broken = self._filled(request, row, loaded)
        return NewRun(
            new_id(), request, row["version"], loaded.program.queue, inputs, lane,
            False, refusal or broken, chain.root_id, chain.depth,
        )  # fmt: skip

    def _refusal(
        self, request: Request, row: Mapping[str, Any], loaded: LoadedVersion,
        around: _Surroundings, chain: Chain,
    ) -> Refusal | None:  # fmt: skip
        if row["state"] == "paused" and request.trigger_type != "manual":
            return PAUSED
        spending = around.allowances.get(request.automation_id, Allowance())
        return chain.refusal(self._limits) or spending.refusal(loaded.program.execution)

    def _filled(
        self, request: Request, row: Mapping[str, Any], loaded: LoadedVersion
    ) -> tuple[Mapping[str, Any], int | None, Refusal | None]:
        """Inputs and lane; what is wrong with a trigger's payload becomes a failed run."""
        try:
            self._check_size(request)
            inputs = self._inputs(request, row, loaded)
            return inputs, self._lane(request, inputs, loaded), None
        except Problem as problem:
            if request.trigger_type == "manual":
                raise
            return {}, None, Refusal("failed", "invalid_inputs", "failed", problem)

    def _check_size(self, request: Request) -> None:
        for name, value in (("payload", request.payload), ("inputs", request.inputs)):
            if not value:
                continue
            check_value(value, self._limits)
            if len(canonical(value)) > self._limits.payload_bytes:
                raise Invalid(
                    f"The {name} must not be larger than {self._limits.payload_bytes} bytes.",
                    code="payload_too_large",
                )

    def _inputs(
        self, request: Request, row: Mapping[str, Any], loaded: LoadedVersion
    ) -> Mapping[str, Any]:
        tokens = Tokens(
            last_fired_at=request.last_fired_at,
            created_at=row["created_at"],
            creator=str(loaded.created_by),
            space=str(request.workspace_id),
        )
        shape = loaded.program.definition.inputs.shape
        return resolve_inputs(shape, request.static, request.inputs, tokens)

    def _lane(
        self, request: Request, inputs: Mapping[str, Any], loaded: LoadedVersion
    ) -> int | None:
        execution = loaded.program.execution
        if execution.concurrency == "allow_parallel":
            return None
        key = None
        if execution.concurrency_key is not None:
            template = parse_template(execution.concurrency_key, self._limits)
            names = {"inputs": inputs, "trigger": request.payload}
            key = str(template.render(names))
        return lane_of(request.automation_id, key)

    async def _accept(self, tx: Transaction, judged: Sequence[NewRun]) -> list[Dispatched]:
        """Under the locks of the lanes: known keys first, then the order in each lane."""
        lanes = {_lane_of(run) for run in judged} - {None}
        locked = sorted(lane for lane in lanes if lane is not None)
        await lock_lanes(tx, locked)
        firsts = one_per_key(judged)
        asked = [run for run in judged if firsts[run.id] is run]
        known = await take_keys(tx, asked)
        full = await occupied(tx, locked)
        new = [await self._placed(run, full) for run in asked if run.id not in known]
        await insert_runs(tx, new)
        made = {run.id: _made(run) for run in new}
        made |= {run.id: _same(run.request, known[run.id]) for run in asked if run.id in known}
        return [_one_of(run, firsts[run.id], made) for run in judged]

    async def _placed(self, run: NewRun, full: set[Lane]) -> NewRun:
        """The run with its place: free to go, behind another, or dropped."""
        lane = _lane_of(run)
        if lane is None or run.refusal is not None:
            return run
        if lane not in full:
            full.add(lane)
            return run
        version = await self._versions.get(
            run.request.workspace_id, run.request.automation_id, run.version
        )
        if version.program.execution.concurrency == "drop_if_running":
            return replace(run, refusal=DROPPED)
        return replace(run, behind=True)


def _lane_of(run: NewRun) -> Lane | None:
    return None if run.lane is None else (run.request.workspace_id, run.lane)


def _made(run: NewRun) -> Dispatched:
    return Dispatched(run.id, run.status, run.refusal.reason if run.refusal else None)


def _one_of(run: NewRun, first: NewRun, made: Mapping[UUID, Dispatched]) -> Dispatched:
    """What became of a run; a second one with its key shares the first one's fate."""
    if first is run:
        return made[run.id]
    _check_body(run.request, first.request.body_hash)
    return replace(made[first.id], existed=True)


def _same(request: Request, row: Mapping[str, Any]) -> Dispatched:
    """The earlier run of this key."""
    _check_body(request, row["body_hash"])
    return Dispatched(row["run_id"], row["status"], row["reason"], existed=True)


def _check_body(request: Request, before: bytes | None) -> None:
    """Another body under the same key is a mistake of the sender."""
    if request.body_hash is not None and before not in (None, request.body_hash):
        raise Invalid(
            "This idempotency key was used before with another body.",
            code="idempotency_mismatch",
        )
