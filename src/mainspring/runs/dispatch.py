"""Dispatch: a firing becomes a run row, or a record of why it did not.

One transaction contains everything that makes a run accepted: the dedup key that prevents a second
run for the same firing, the position in its lane, and the row itself. Waking a worker happens after
the commit and is only a hint.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, ConsentRequired, Invalid, NotFound, Problem
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.definition.inputs import (
    LAST_FIRED_AT,
    RuntimeTokens,
    check_declared,
    resolve_inputs,
)
from mainspring.definition.strict_json import check_value, encode_canonical
from mainspring.definition.templates import parse_template
from mainspring.gate.policy import narrower_mode
from mainspring.gate.rehearsal_recording import limit_to_day_cap, read_active_day_cap
from mainspring.runs.engine import LoadedVersion
from mainspring.runs.rows import RunEnd, run_event
from mainspring.runs.run_requests import (
    DROPPED,
    KEY_LIFE,
    LEFT,
    PAUSED,
    AdmissionRefusal,
    CostAllowance,
    Lane,
    NewRun,
    PreparedRun,
    RunChain,
    RunRequest,
    find_occupied_lanes,
    insert_runs,
    lane_of,
    lock_lanes,
    one_per_key,
    read_chains,
    serialize_inputs,
    take_keys,
)
from mainspring.runs.versions import VersionCache
from mainspring.store.database import Database, is_lost_connection
from mainspring.store.events import EventRow, append_events
from mainspring.store.wakeups import HintSender
from mainspring.workspace.consent_rows import PAUSED_REASON as CONSENT
from mainspring.workspace.consents import check_consent
from mainspring.workspace.departed_members import OWNER_LEFT
from mainspring.workspace.webhooks import (
    FIRED_SECONDS,
    MARK,
    NOTE_FIRED,
    OWNER_HERE,
    HeldWebhook,
    lock_webhooks,
    record_firings,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import DedicatedConnection


# The prepared parts of a run: inputs with defaults, validated, and the lane that depends on them.

# Validation with a larger schema may take long and runs on a thread.
_HEAVY_BYTES: Final = 4_096
# The maximum age of a cached entry about an automation: it is checked against the row when it is
# used, and an outdated entry is invalidated.
_FACT_SECONDS: Final = 60.0
_MOST_FACTS: Final = 5_000

_FACTS: Final = "SELECT version, created_at FROM automations WHERE workspace_id = $1 AND id = $2"


@dataclass(frozen=True, slots=True)
class ActiveVersion:
    """The recently active version, and when the automation was created."""

    version: int
    created_at: datetime


class ActiveVersionCache:
    """A cache of facts about automations with a time to live."""

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
        """Invalidate an entry that turned out to be outdated."""
        self._kept.pop((workspace_id, automation_id), None)


def is_heavy(loaded: LoadedVersion) -> bool:
    """Whether validating inputs may take long."""
    return loaded.inputs_bytes > _HEAVY_BYTES


def fill(
    request: RunRequest, loaded: LoadedVersion, version: int, created_at: datetime, limits: Limits
) -> PreparedRun:
    """Inputs and lane; problems of a trigger's payload become a failed run."""
    try:
        if request.problem is not None:
            raise request.problem
        _check_size(request, limits)
        # A trigger's inputs were validated with the definition, a replay's with their first run.
        earlier = request.replay_of or request.rehearses
        if request.trigger_type == "manual" and earlier is None:
            check_declared(request.inputs, loaded.program.definition.inputs.shape)
        inputs, timed = _inputs(request, loaded, created_at)
        return PreparedRun(version, inputs, _lane(request, inputs, loaded, limits), timed=timed)
    except Problem as problem:
        if request.is_manual and request.rehearses is None:
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
    """The inputs, and whether they include the last fire time."""
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


# Requests that were prepared shortly before are written by one statement, if nothing has changed.

# The triggers are locked, as when a run is decided: a change to them waits, and nothing starts
# after it. A trigger's mark differs once it has changed since the run was prepared; where we had to
# wait for such a change, other data read before is outdated. Known and expired keys are left to be
# decided separately. A run that already exists was written by the same request, when its group was
# first sent. The last fire time of a trigger is updated to the second, unless its row is locked.
_UNCHANGED = f"""
    WITH held AS MATERIALIZED (
        SELECT t.workspace_id, t.id, t.automation_id, t.config ? 'signature' AS signed, w.mark
        FROM (SELECT DISTINCT * FROM unnest($1::uuid[], $2::uuid[], $3::text[])) AS w
            (workspace_id, id, mark)
        JOIN triggers t ON t.workspace_id = w.workspace_id AND t.id = w.id
        WHERE t.armed_at IS NOT NULL AND t.suspended_at IS NULL AND {MARK} = w.mark AND t.xmin = (
            SELECT u.xmin FROM triggers u WHERE u.workspace_id = t.workspace_id AND u.id = t.id)
        ORDER BY t.id FOR SHARE OF t
    ), sound AS MATERIALIZED (
        SELECT h.workspace_id, h.id, h.mark, a.version, a.id AS automation_id
        FROM held h JOIN automations a ON a.workspace_id = h.workspace_id
            AND a.id = h.automation_id AND a.state NOT IN ('paused', 'archived')
            AND (NOT h.signed OR {OWNER_HERE})
        JOIN workspaces w ON w.workspace_id = a.workspace_id AND w.cost_cap_daily_usd IS NULL
        WHERE NOT EXISTS (SELECT FROM spend d
            WHERE d.workspace_id = a.workspace_id AND d.automation_id = a.id)
    ), asked AS MATERIALIZED (
        SELECT n.*, s.automation_id FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[],
            $5::int4[], $6::text[], $7::text[], $8::text[], $9::text[], $11::bytea[])
            AS n(workspace_id, trigger_id, mark, id, version, queue, payload, inputs, key,
                body_hash)
        JOIN sound s ON s.workspace_id = n.workspace_id AND s.id = n.trigger_id
            AND s.mark = n.mark AND s.version = n.version
    ), keyed AS (
        INSERT INTO firings (workspace_id, source_id, key, expires_at, run_id, body_hash)
        SELECT workspace_id, trigger_id, key, now() + $10::interval, id, body_hash FROM asked
        WHERE key IS NOT NULL ORDER BY 1, 2, 3
        ON CONFLICT (workspace_id, source_id, key) DO NOTHING RETURNING run_id
    ), made AS (
        INSERT INTO runs (workspace_id, id, automation_id, version, trigger_id, trigger_type,
            queue, status, payload, inputs, depth, mode, due_at)
        SELECT n.workspace_id, n.id, n.automation_id, n.version, n.trigger_id, 'webhook', n.queue,
            'pending', n.payload::json, n.inputs::json, 0, 'live', clock_timestamp()
        FROM asked n WHERE n.key IS NULL OR n.id IN (SELECT run_id FROM keyed)
        ON CONFLICT (workspace_id, id) DO NOTHING RETURNING id, workspace_id, trigger_id
    ), noted AS (
        {NOTE_FIRED.format(names="workspace_id, trigger_id FROM made", more="")}
    )
    SELECT id, 'pending' AS status, NULL AS reason FROM made
    UNION ALL
    SELECT r.id, r.status, r.reason
    FROM unnest($1::uuid[], $4::uuid[]) AS n(workspace_id, id) JOIN runs r USING (workspace_id, id)
"""


def _needs_only_its_row(request: RunRequest) -> bool:
    """Whether a prepared request depends on no lane, budget or earlier firing."""
    given = request.prepared
    return (
        given is not None
        and given.lane is None
        and given.refusal is None
        and not given.timed
        and request.trigger_type == "webhook"
        and request.trigger_id is not None
        and request.run_id is not None
        and request.parent_id is None
        and request.mode == "live"
    )


def _unchanged_columns(run: NewRun) -> tuple[Any, ...]:
    request, (payload, inputs) = run.request, serialize_inputs(run)
    return (
        request.workspace_id,
        request.trigger_id,
        request.trigger_mark,
        run.id,
        run.version,
        run.queue,
        payload,
        inputs,
        request.key,
        request.body_hash,
    )


# How much the last fire time may differ from the one that a request was prepared with.
_LATEST: Final = timedelta(seconds=2)


def _is_current(request: RunRequest, held: HeldWebhook | None) -> bool:
    """Whether the webhook is unchanged since the request was prepared."""
    if held is None or held.mark != request.trigger_mark:
        return False
    given, last = request.prepared, held.last_fired_at
    if given is None or not given.timed or last is None:
        return True
    return request.last_fired_at is not None and request.last_fired_at + _LATEST >= last


@dataclass(frozen=True, slots=True)
class DispatchResult:
    """The run that a request created or found."""

    run_id: UUID
    status: str
    reason: str | None = None
    existed: bool = False
    # The queue of a run that is due now, for the hint to workers.
    queue: str | None = None
    # Its trigger only records what it misses.
    suspended: bool = False


class TriggerChanged:
    """The trigger has changed since a firing was prepared: it must be prepared again."""


Recorded = DispatchResult | Problem | TriggerChanged


# One query for everything about a batch. Enabled triggers are locked: pausing them waits, and
# nothing starts after it. The spending of an automation is only read where something was ever
# spent.
_AROUND = f"""
    WITH held AS MATERIALIZED (
        SELECT id, suspended_at FROM triggers
        WHERE workspace_id = $1 AND id = ANY($3::uuid[]) AND armed_at IS NOT NULL
        ORDER BY id FOR SHARE
    )
    SELECT a.id, a.name, a.version, a.state, a.paused_reason, a.agreed_version, a.created_at,
        a.state = 'paused' AND NOT {OWNER_HERE} AS has_left, s.today, s.usual,
        ARRAY(SELECT id FROM held) AS armed,
        ARRAY(SELECT id FROM held WHERE suspended_at IS NOT NULL) AS suspended, (
            SELECT sum(d.usd) >= w.cost_cap_daily_usd FROM workspaces w
            JOIN spend d ON d.workspace_id = w.workspace_id
                AND d.day = (now() AT TIME ZONE 'UTC')::date
            WHERE w.workspace_id = $1 AND w.cost_cap_daily_usd IS NOT NULL
            GROUP BY w.workspace_id) AS space_spent
    FROM automations a LEFT JOIN LATERAL (
        SELECT
            sum(d.usd) FILTER (WHERE d.day = (now() AT TIME ZONE 'UTC')::date) AS today,
            (SELECT avg(l.cost_usd) FROM (
                SELECT r.cost_usd FROM runs r
                WHERE r.workspace_id = a.workspace_id AND r.automation_id = a.id
                  AND r.status = 'succeeded' AND r.mode = 'live'
                ORDER BY r.id DESC LIMIT 20) AS l) AS usual
        FROM spend d
        WHERE d.workspace_id = a.workspace_id AND d.automation_id = a.id
        GROUP BY d.automation_id
    ) AS s ON true
    WHERE a.workspace_id = $1 AND a.id = ANY($2::uuid[])
"""


@dataclass(frozen=True, slots=True)
class _BatchContext:
    """What the database says about the automations of a batch."""

    automations: Mapping[UUID, Mapping[str, Any]]
    allowances: Mapping[UUID, CostAllowance]
    chains: Mapping[UUID, RunChain]
    armed: set[UUID]
    # The enabled triggers that only record what they miss.
    suspended: set[UUID]
    # For rehearsals: the daily cap of the active version.
    day_caps: Mapping[UUID, Decimal]


class Dispatcher:
    """Turns requests into runs; any number of processes may do so at once."""

    def __init__(
        self, database: Database, versions: VersionCache, hints: HintSender, limits: Limits
    ) -> None:
        self._database = database
        self._versions = versions
        self._hints = hints
        self._limits = limits
        self._facts = ActiveVersionCache(database)

    async def dispatch(self, request: RunRequest) -> DispatchResult:
        """One request; a person's invalid inputs are returned as an error, a trigger's are
        recorded.
        """
        (made,) = await self.dispatch_all([request])
        return made

    async def dispatch_all(self, requests: Sequence[RunRequest]) -> list[DispatchResult]:
        """Requests of one workspace, accepted together or not at all."""
        ready = [await self.prepare(request) for request in requests]
        async with self._database.transaction() as tx:
            made = [_or_raise(one) for one in await self.take(tx, ready)]
        self.wake(made)
        return made

    async def take(
        self, tx: Transaction, requests: Sequence[RunRequest]
    ) -> list[DispatchResult | Problem]:
        """Requests of one workspace, inside the caller's transaction; call ``wake`` after its
        commit.

        A problem with one request is its own result and does not affect the others. The lock order
        is the same everywhere: triggers, then lanes.
        """
        around = await self._look(tx, requests)
        judged = [
            await _explain_refusal(tx, one, await self._judged(one, around)) for one in requests
        ]
        new = [one for one in judged if isinstance(one, NewRun)]
        made = iter(await self._accept(tx, new, around))
        return [next(made) if isinstance(one, NewRun) else one for one in judged]

    async def record(
        self, connection: DedicatedConnection, requests: Sequence[RunRequest]
    ) -> list[Recorded]:
        """Record prepared webhook requests of any workspaces; returns the result of each.

        Most only need their row, and one statement writes them. The others are decided with their
        triggers locked. A group whose commit result was lost may be sent again.
        """
        unchanged = await self.insert_unchanged(connection, requests)
        self.wake(list(unchanged.values()))
        made: dict[UUID | None, Recorded] = dict(unchanged.items())
        rest = [request for request in requests if request.run_id not in made]
        if rest:
            made |= await self._decide(connection, rest)
        return [made[request.run_id] for request in requests]

    async def insert_unchanged(
        self, tx: Transaction, requests: Sequence[RunRequest]
    ) -> dict[UUID, DispatchResult]:
        """Write those that only need their row and whose webhooks are unchanged."""
        plain = [await self._plain(one) for one in requests if _needs_only_its_row(one)]
        queues = {run.id: run.queue for run in plain if run is not None}
        if not queues:
            return {}
        asked = [_unchanged_columns(run) for run in plain if run is not None]
        *columns, hashes = [list(column) for column in zip(*asked, strict=True)]
        rows = await tx.fetch(_UNCHANGED, *columns, KEY_LIFE, hashes)
        return {
            row["id"]: DispatchResult(
                row["id"], row["status"], row["reason"], queue=queues[row["id"]]
            )
            for row in rows
        }

    async def _decide(
        self, connection: DedicatedConnection, requests: Sequence[RunRequest]
    ) -> dict[UUID | None, Recorded]:
        """Lock the webhooks, then accept the requests of one workspace after another."""
        names = {(one.workspace_id, one.trigger_id) for one in requests if one.trigger_id}
        made: dict[UUID | None, Recorded] = {}
        groups: dict[UUID, list[RunRequest]] = defaultdict(list)
        async with connection.transaction():
            held = await lock_webhooks(connection, sorted(names))
            for request in requests:
                webhook = held.get(request.trigger_id) if request.trigger_id else None
                if webhook is None or not _is_current(request, webhook):
                    made[request.run_id] = TriggerChanged()
                    continue
                groups[request.workspace_id].append(
                    replace(
                        request,
                        key_expires_at=webhook.now + KEY_LIFE,
                        last_fired_at=webhook.last_fired_at,
                    )
                )
            # A fixed lock order.
            for workspace_id in sorted(groups):
                group = groups[workspace_id]
                for one, what in zip(group, await self.take(connection, group), strict=True):
                    made[one.run_id] = _with_trigger(what, one, held)
        self.wake([one for one in made.values() if not isinstance(one, TriggerChanged)])
        await _note_fired(connection, groups, held)
        return made

    async def _plain(self, request: RunRequest) -> NewRun | None:
        given, run_id = request.prepared, request.run_id
        assert given is not None
        assert run_id is not None
        try:
            loaded = await self._loaded(request, given.version)
        except Problem as problem:
            if is_lost_connection(problem):
                raise
            return None
        return NewRun(
            run_id,
            request,
            given.version,
            loaded.program.queue,
            given.inputs,
            None,
            False,
            None,
            None,
            0,
        )

    def wake(self, made: Sequence[DispatchResult | Problem]) -> None:
        """Send the hints to workers, once the runs are committed."""
        found = (one for one in made if isinstance(one, DispatchResult) and one.status == "pending")
        self._hints.due((one.queue, one.run_id) for one in found if one.queue is not None)

    async def prepare(self, request: RunRequest) -> RunRequest:
        """Prepare what a run would be given, outside of any transaction.

        This may take a while, and reads a version on a connection of its own: neither should happen
        while the caller holds a connection and locks.
        """
        try:
            facts = await self._facts.of(request.workspace_id, request.automation_id)
            version = request.version or facts.version
            loaded = await self._loaded(request, version)
        except Problem as problem:
            if is_lost_connection(problem):
                raise
            # Reported when the request is accepted, with everything that is known then.
            return request
        work = partial(fill, request, loaded, version, facts.created_at, self._limits)
        try:
            prepared = await asyncio.to_thread(work) if is_heavy(loaded) else work()
        except Problem:
            # It may match the active version by now; that is checked when it is accepted.
            self._facts.forget(request.workspace_id, request.automation_id)
            return request
        return replace(request, prepared=prepared)

    async def _loaded(self, request: RunRequest, version: int) -> LoadedVersion:
        """What the run executes: a version, or the candidate of a rehearsal."""
        if request.rehearsal_id is not None:
            return await self._versions.load_rehearsal(request.workspace_id, request.rehearsal_id)
        return await self._versions.get(request.workspace_id, request.automation_id, version)

    async def _look(self, tx: Transaction, requests: Sequence[RunRequest]) -> _BatchContext:
        workspace_id = requests[0].workspace_id
        wanted = list({request.automation_id for request in requests})
        triggers = sorted({r.trigger_id for r in requests if r.trigger_id and not r.is_manual})
        parents = list({r.parent_id for r in requests if r.parent_id is not None})
        rows = await tx.fetch(_AROUND, workspace_id, wanted, triggers)
        await self._versions.warm(
            (workspace_id, row["id"], row["version"])
            for row in rows
            if any(one.prepared is None for one in requests)
        )
        return _BatchContext(
            {row["id"]: row for row in rows},
            {row["id"]: _allowance(row) for row in rows},
            await read_chains(tx, workspace_id, parents),
            set(rows[0]["armed"]) if rows else set(),
            set(rows[0]["suspended"]) if rows else set(),
            {
                one: await read_active_day_cap(tx, workspace_id, one)
                for one in {r.automation_id for r in requests if r.rehearsal_id is not None}
            },
        )

    async def _judged(self, request: RunRequest, around: _BatchContext) -> NewRun | Problem:
        try:
            return await self._judge(request, around)
        except Problem as problem:
            if is_lost_connection(problem):
                raise
            return problem

    async def _judge(self, request: RunRequest, around: _BatchContext) -> NewRun:
        row = around.automations.get(request.automation_id)
        if row is None:
            raise NotFound("There is no such automation.", code="no_automation")
        if row["state"] == "archived":
            raise Conflict(
                "This automation is archived.",
                code="archived",
                suggestion="Restore it first; recover an uninstalled one instead.",
            )
        version = request.version or row["version"]
        chain = (
            around.chains.get(request.parent_id, RunChain()) if request.parent_id else RunChain()
        )
        # What a trial causes is part of the trial, over any number of hops.
        request = replace(request, mode=narrower_mode(request.mode, chain.mode))
        if request.is_manual and row["has_left"] and not _is_harmless(request):
            raise Conflict(
                "The owner of this automation left, and no one has taken it over.",
                code=OWNER_LEFT,
                suggestion="Take it over under Settings, Members, or with "
                "`mainspring members takeover`. A dry run works before that.",
            )
        if request.is_manual and _lacks_consent(request, row):
            raise ConsentRequired(
                "A person must consent first.", consent={"version": row["version"]}
            )
        try:
            loaded = await self._loaded(request, version)
        except Problem as problem:
            if request.is_manual or is_lost_connection(problem):
                raise
            # One version that cannot be loaded must not block the firings of the others.
            return _unreadable(request, version, chain, problem)
        refusal = self._refusal(request, row, loaded, around, chain)
        given = request.prepared
        if given is None or given.version != version:
            self._facts.forget(request.workspace_id, request.automation_id)
            given = fill(request, loaded, version, row["created_at"], self._limits)
        refusal = refusal or given.refusal
        if refusal is None:
            chain.grow()
        return NewRun(
            request.run_id or generate_id(),
            request,
            version,
            loaded.program.queue,
            given.inputs,
            given.lane,
            False,
            refusal,
            chain.root_id,
            chain.depth,
        )

    def _refusal(
        self,
        request: RunRequest,
        row: Mapping[str, Any],
        loaded: LoadedVersion,
        around: _BatchContext,
        chain: RunChain,
    ) -> AdmissionRefusal | None:
        spending = around.allowances.get(request.automation_id, CostAllowance())
        if request.rehearsal_id is not None:
            # The usual cost of another version says nothing about the candidate.
            today = replace(spending, usual=None)
            bounds = limit_to_day_cap(
                loaded.program.execution, around.day_caps[request.automation_id]
            )
            return chain.refusal(self._limits) or today.refusal(bounds)
        if not request.is_manual and _waits_for_takeover(request, row, around):
            return LEFT
        if not request.is_manual and not _awake(request, row, around):
            return PAUSED
        return chain.refusal(self._limits) or spending.refusal(loaded.program.execution)

    async def _accept(
        self, tx: Transaction, judged: Sequence[NewRun], around: _BatchContext
    ) -> list[DispatchResult | Problem]:
        """With the lanes locked: known keys first, then the order in each lane."""
        lanes = {_lane_of(run) for run in judged} - {None}
        locked = sorted(lane for lane in lanes if lane is not None)
        await lock_lanes(tx, locked)
        firsts = one_per_key(judged)
        asked = [run for run in judged if firsts[run.id] is run]
        known = await take_keys(tx, asked)
        full = await find_occupied_lanes(tx, locked)
        new = [await self._place_in_lane(run, full) for run in asked if run.id not in known]
        written = await insert_runs(tx, new)
        await append_events(tx, list(_failures(written, around)))
        made = {run.id: _to_dispatch_result(run) for run in new}
        return [_one_of(run, firsts[run.id], made, known) for run in judged]

    async def _place_in_lane(self, run: NewRun, full: set[Lane]) -> NewRun:
        """The run with its position: free to run, behind another, or dropped."""
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


def _with_trigger(
    what: DispatchResult | Problem, request: RunRequest, held: Mapping[UUID, HeldWebhook]
) -> DispatchResult | Problem:
    if isinstance(what, Problem) or request.trigger_id is None:
        return what
    return replace(what, suspended=held[request.trigger_id].suspended)


async def _note_fired(
    tx: Transaction,
    groups: Mapping[UUID, Sequence[RunRequest]],
    held: Mapping[UUID, HeldWebhook],
) -> None:
    """Best effort, after the commit: the runs exist regardless of the result."""
    late = timedelta(seconds=FIRED_SECONDS)
    due = {
        (workspace_id, one.trigger_id)
        for workspace_id, group in groups.items()
        for one in group
        if one.trigger_id is not None
        and (one.last_fired_at is None or held[one.trigger_id].now - one.last_fired_at > late)
    }
    if due:
        with contextlib.suppress(Exception):
            await record_firings(tx, sorted(due))


def _allowance(row: Mapping[str, Any]) -> CostAllowance:
    return CostAllowance(row["today"] or Decimal(0), row["usual"], bool(row["space_spent"]))


def _awake(request: RunRequest, row: Mapping[str, Any], around: _BatchContext) -> bool:
    if row["state"] == "paused" or _lacks_consent(request, row):
        return False
    return request.trigger_id is None or request.trigger_id in around.armed


def _waits_for_takeover(request: RunRequest, row: Mapping[str, Any], around: _BatchContext) -> bool:
    """Whether it waits for a new owner."""
    stopped = row["state"] == "paused" and row["paused_reason"] == OWNER_LEFT
    return stopped or request.trigger_id in around.suspended


def _is_harmless(request: RunRequest) -> bool:
    """Whether it changes and sends nothing, or is a file of the local owner."""
    return request.mode == "dry_run" or request.rehearsal_id is not None or request.own_file


def _lacks_consent(request: RunRequest, row: Mapping[str, Any]) -> bool:
    """Whether it would do what nobody has consented to; a dry run changes and sends nothing.

    A version other than the active one was checked where it was requested.
    """
    if _is_harmless(request):
        return False
    if request.version is not None and request.version != row["version"]:
        return False
    waits = row["state"] == "paused" and row["paused_reason"] == CONSENT
    return bool(waits or row["agreed_version"] != row["version"])


async def _explain_refusal(
    tx: Transaction, request: RunRequest, one: NewRun | Problem
) -> NewRun | Problem:
    """A refusal for missing consent, with what a person has to agree to."""
    if not isinstance(one, ConsentRequired):
        return one
    at = (request.workspace_id, request.automation_id, int(one.consent["version"]))
    return await check_consent(tx, *at) or one


def _lane_of(run: NewRun) -> Lane | None:
    return None if run.lane is None else (run.request.workspace_id, run.lane)


def _failures(runs: Sequence[NewRun], around: _BatchContext) -> Iterator[EventRow]:
    """A run that failed before it started is reported like any other failure."""
    for run in runs:
        if run.refusal is not None and run.status == "failed":
            end = RunEnd("failed", run.refusal.reason, run.refusal.outcome)
            name = around.automations[run.request.automation_id]["name"]
            request = run.request
            event = run_event(
                request.workspace_id, run.id, request.automation_id, name, end, request.mode
            )
            if event is not None:
                yield event


def _to_dispatch_result(run: NewRun) -> DispatchResult:
    reason = run.refusal.reason if run.refusal else None
    return DispatchResult(run.id, run.status, reason, queue=None if run.behind else run.queue)


def _unreadable(request: RunRequest, version: int, chain: RunChain, problem: Problem) -> NewRun:
    refusal = AdmissionRefusal("failed", "unreadable_version", "failed", problem)
    made = request.run_id or generate_id()
    return NewRun(
        made, request, version, "fast", {}, None, False, refusal, chain.root_id, chain.depth
    )


def _or_raise(made: DispatchResult | Problem) -> DispatchResult:
    if isinstance(made, Problem):
        raise made
    return made


def _one_of(
    run: NewRun,
    first: NewRun,
    made: Mapping[UUID, DispatchResult],
    known: Mapping[UUID, Mapping[str, Any]],
) -> DispatchResult | Problem:
    """The result of a run; each body is compared with the first body of its key."""
    if first.id in known:
        return _same(run.request, known[first.id])
    if first is run:
        return made[run.id]
    other = _other_body(run.request, first.request.body_hash)
    return other or replace(made[first.id], existed=True)


def _same(request: RunRequest, row: Mapping[str, Any]) -> DispatchResult | Problem:
    """The earlier run of this key."""
    return _other_body(request, row["body_hash"]) or DispatchResult(
        row["run_id"], row["status"], row["reason"], existed=True
    )


def _other_body(request: RunRequest, before: bytes | None) -> Problem | None:
    """Another body under the same key is an error of the sender."""
    if request.body_hash is None or before in (None, request.body_hash):
        return None
    return Invalid(
        "This idempotency key was already used with a different body.", code="idempotency_mismatch"
    )
