"""New runs as rows: the dedup key, the position in the lane, the row itself."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.display_text import format_usd
from mainspring.contracts.errors import BudgetExceeded, Conflict, LimitExceeded, Problem
from mainspring.contracts.limits import Limits
from mainspring.definition.model import Execution
from mainspring.definition.strict_json import dumps
from mainspring.gate.policy import Mode
from mainspring.workspace.departed_members import OWNER_LEFT

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# Lanes: runs that may not overlap stand in one line, in the order they arrived.
#
# A lane is a number made from the automation and its optional key. Adding to a lane
# or leaves it holds the lane's lock for that transaction, so the question "is anyone before
# me?" has one answer. A run that must wait has the due time 'infinity'; the one in front is
# let go when the run before it has ended.


Lane = tuple[UUID, int]

_LOCK = "SELECT pg_advisory_xact_lock(lane) FROM unnest($1::int8[]) AS l(lane)"

_RELEASE_LANES = """
    UPDATE runs r SET due_at = now()
    FROM unnest($1::uuid[], $2::int8[]) AS l(workspace_id, lane),
    LATERAL (
        SELECT f.id, f.status, f.due_at FROM runs f
        WHERE f.workspace_id = l.workspace_id AND f.lane = l.lane AND f.finished_at IS NULL
        ORDER BY f.arrival LIMIT 1
    ) AS front
    WHERE r.workspace_id = l.workspace_id AND r.id = front.id
      AND front.status = 'pending' AND front.due_at = 'infinity'
"""

_OCCUPIED = """
    SELECT l.workspace_id, l.lane
    FROM unnest($1::uuid[], $2::int8[]) AS l(workspace_id, lane)
    WHERE EXISTS (
        SELECT 1 FROM runs r WHERE r.workspace_id = l.workspace_id AND r.lane = l.lane
          AND r.finished_at IS NULL
    )
"""

# For the sweep: every lane whose first run is still held back, whatever the cause.
STUCK = """
    SELECT b.workspace_id, b.lane FROM runs b
    WHERE b.status = 'pending' AND b.due_at = 'infinity' AND b.queue = ANY($1::text[])
      AND b.lane IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM runs f WHERE f.workspace_id = b.workspace_id AND f.lane = b.lane
          AND f.finished_at IS NULL AND f.arrival < b.arrival)
    LIMIT 1000
"""


def lane_of(automation_id: UUID, key: str | None) -> int:
    """The lane's number: 63 bits of a hash, so that it is a key for a lock as well."""
    text = f"{automation_id}/{key or ''}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1


async def lock_lanes(tx: Transaction, lanes: Sequence[Lane]) -> None:
    """Takes the locks in one order everywhere, so that two writers cannot block each other."""
    if lanes:
        # By workspace first: who fires for several takes them one workspace after another.
        await tx.execute(_LOCK, [lane for _, lane in sorted(set(lanes))])


async def find_occupied_lanes(tx: Transaction, lanes: Sequence[Lane]) -> set[Lane]:
    """The lanes in which a run is waiting or under way."""
    if not lanes:
        return set()
    rows = await tx.fetch(_OCCUPIED, [space for space, _ in lanes], [lane for _, lane in lanes])
    return {(row["workspace_id"], row["lane"]) for row in rows}


async def release_lanes(tx: Transaction, lanes: Sequence[Lane]) -> None:
    """Lets the first run of each lane go, if it was held back."""
    if lanes:
        await tx.execute(_RELEASE_LANES, [space for space, _ in lanes], [lane for _, lane in lanes])


# Admission: reasons why a firing becomes a record instead of work.
#
# The decisions are functions of plain values; the queries beside them fetch those values.


@dataclass(frozen=True, slots=True)
class AdmissionRefusal:
    """How the run is recorded when it may not start."""

    status: str
    reason: str
    outcome: str
    problem: Problem | None = None


# A person may still start it by hand.
PAUSED = AdmissionRefusal("skipped", "paused", "nothing_to_do")
DROPPED = AdmissionRefusal("skipped", "dropped", "nothing_to_do")
# What arrives until somebody takes the automation over is kept, and can be replayed then.
LEFT = AdmissionRefusal(
    "skipped",
    OWNER_LEFT,
    "blocked",
    Conflict(
        "It is stopped because its owner, or the member who created its webhook token, left.",
        code=OWNER_LEFT,
        suggestion="Take it over under Settings, Members, or with `mainspring members takeover`; "
        "then replay this run.",
    ),
)


@dataclass(slots=True)
class ChainLength:
    """How many runs a chain has; shared by all who join it in one batch."""

    runs: int


@dataclass(frozen=True, slots=True)
class RunChain:
    """Where new runs would stand: their first ancestor, their depth, how many there are."""

    root_id: UUID | None = None
    depth: int = 0
    length: ChainLength = field(default_factory=lambda: ChainLength(0))
    # What the parent may do; whatever it starts may do no more.
    mode: Mode = "live"

    def refusal(self, limits: Limits) -> AdmissionRefusal | None:
        """Automations that start each other are stopped, with a record."""
        if self.depth > limits.chain_depth:
            return _chain_refusal("chain_depth", f"{limits.chain_depth} runs deep")
        if self.length.runs >= limits.chain_runs:
            return _chain_refusal("chain_runs", f"{limits.chain_runs} runs long")
        return None

    def grow(self) -> None:
        """Counts a run that is about to join."""
        self.length.runs += 1


def _chain_refusal(reason: str, bound: str) -> AdmissionRefusal:
    problem = LimitExceeded(
        f"Runs started further runs until the chain was {bound}; it stops here.",
        code=reason,
        retryable=False,
    )
    return AdmissionRefusal("skipped", reason, "blocked", problem)


@dataclass(frozen=True, slots=True)
class CostAllowance:
    """What an automation has spent today, and what a run of it usually costs."""

    spent_today: Decimal = Decimal(0)
    usual: Decimal | None = None
    # Whether the workspace has spent all that it may spend in a day.
    space_spent: bool = False

    def refusal(self, execution: Execution) -> AdmissionRefusal | None:
        """A day's cap that is reached, or a run that would cost more than it may."""
        if self.spent_today and self.spent_today >= execution.cost_cap_daily_usd:
            return _costly(
                "day_budget",
                (
                    f"Today's runs have spent {format_usd(self.spent_today)} of "
                    f"{format_usd(execution.cost_cap_daily_usd)} (days are UTC)."
                ),
            )
        if self.space_spent:
            return _costly(
                "workspace_budget",
                "The workspace has reached its daily spending limit (days are UTC).",
            )
        if self.usual is not None and self.usual > execution.budget_cap_usd:
            return _costly(
                "estimate_over_budget",
                (
                    f"Its recent runs cost ${self.usual:.4f} on average, more than the "
                    f"limit of {format_usd(execution.budget_cap_usd)} for one run."
                ),
            )
        return None


def _costly(reason: str, detail: str) -> AdmissionRefusal:
    return AdmissionRefusal("skipped", reason, "over_budget", BudgetExceeded(detail, code=reason))


_CHAINS = """
    SELECT p.id, coalesce(p.root_id, p.id) AS root_id, p.depth + 1 AS depth, p.mode,
        (SELECT count(*) FROM runs c
         WHERE c.workspace_id = p.workspace_id AND c.root_id = coalesce(p.root_id, p.id)) AS runs
    FROM runs p WHERE p.workspace_id = $1 AND p.id = ANY($2::uuid[])
"""
_TRIALS = """
    SELECT id FROM runs WHERE workspace_id = $1 AND id = ANY($2::uuid[]) AND mode <> 'live'
"""


async def read_chains(
    tx: Transaction, workspace_id: UUID, parents: Sequence[UUID]
) -> dict[UUID, RunChain]:
    """The chain of each parent."""
    if not parents:
        return {}
    rows = await tx.fetch(_CHAINS, workspace_id, list(parents))
    lengths = {row["root_id"]: ChainLength(row["runs"]) for row in rows}
    return {
        row["id"]: RunChain(row["root_id"], row["depth"], lengths[row["root_id"]], row["mode"])
        for row in rows
    }


async def trials_among(
    tx: Transaction, workspace_id: UUID, runs: Collection[UUID | None]
) -> set[UUID]:
    """Those of the runs that only try things out."""
    if not runs:
        return set()
    return {row["id"] for row in await tx.fetch(_TRIALS, workspace_id, list(runs))}


# How long the key of a webhook's sender stands for its run.
KEY_LIFE: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """The inputs of a run of one version, prepared before its transaction."""

    version: int
    inputs: Mapping[str, Any]
    lane: int | None = None
    refusal: AdmissionRefusal | None = None
    # Whether its inputs include the last fire time.
    timed: bool = False


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A firing, or a person's request, for one automation."""

    workspace_id: UUID
    automation_id: UUID
    trigger_type: str = "manual"
    trigger_id: UUID | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    static: Mapping[str, Any] = field(default_factory=dict)
    # Any JSON value: a webhook's body need not be an object.
    payload: Any = field(default_factory=dict)
    # The dedup key; a second request with it finds the first one's run.
    key: str | None = None
    key_expires_at: datetime | None = None
    body_hash: bytes | None = None
    parent_id: UUID | None = None
    last_fired_at: datetime | None = None
    # A version other than the active one, for a replay with the original version.
    version: int | None = None
    replay_of: UUID | None = None
    # The id of its run, for a request without a key that may be sent again.
    run_id: UUID | None = None
    # The payload was parsed within the limits and need not be measured again.
    measured: bool = False
    # A problem that occurred before dispatch; its run is recorded as failed.
    problem: Problem | None = None
    # A dry run changes nothing; verify mode sends nothing outside.
    mode: Mode = "live"
    # The local owner runs a file of their own, which needs no prior consent.
    own_file: bool = False
    # The rehearsal that it belongs to, and the run whose recorded answers it uses.
    rehearsal_id: UUID | None = None
    rehearses: UUID | None = None
    # Used while its version is still the one to run, and prepared again otherwise.
    prepared: PreparedRun | None = None
    # The state of its webhook when it was prepared; see ``WebhookTrigger.mark``.
    trigger_mark: str | None = None

    @property
    def is_manual(self) -> bool:
        """Started manually: problems are returned to the person, and a pause does not apply."""
        return self.trigger_type == "manual" or self.replay_of is not None

    @property
    def source_id(self) -> UUID:
        """The owner of its key: the trigger, or the automation for a manual run."""
        if self.is_manual or self.trigger_id is None:
            return self.automation_id
        return self.trigger_id


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to insert, with its admission decision."""

    id: UUID
    request: RunRequest
    version: int
    queue: str
    inputs: Mapping[str, Any]
    lane: int | None
    behind: bool
    refusal: AdmissionRefusal | None
    root_id: UUID | None
    depth: int

    @property
    def status(self) -> str:
        return "pending" if self.refusal is None else self.refusal.status


# An expired key is taken over as if it were new.
_KEYS = """
    INSERT INTO firings (workspace_id, source_id, key, expires_at, run_id, body_hash)
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::timestamptz[], $5::uuid[],
        $6::bytea[]) AS k(workspace_id, source_id, key, expires_at, run_id, body_hash)
    ORDER BY 1, 2, 3
    ON CONFLICT (workspace_id, source_id, key) DO UPDATE
        SET run_id = excluded.run_id, body_hash = excluded.body_hash,
            expires_at = excluded.expires_at, at = now()
        WHERE firings.expires_at < now()
    RETURNING run_id
"""

_RELEASE = """
    UPDATE firings SET expires_at = '-infinity'
    WHERE workspace_id = $1 AND source_id = $2 AND key = $3 AND run_id = $4
"""

_KNOWN = """
    SELECT f.source_id, f.key, f.run_id, f.body_hash, r.reason,
        coalesce(r.status, 'gone') AS status
    FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS k(workspace_id, source_id, key)
    JOIN firings f USING (workspace_id, source_id, key)
    LEFT JOIN runs r ON r.workspace_id = f.workspace_id AND r.id = f.run_id
"""

# Due from the time it is written: it becomes visible shortly after, however long the transaction
# takes, and claims rely on that.
_RUNS = """
    INSERT INTO runs (workspace_id, id, automation_id, version, trigger_id, trigger_type, queue,
        status, reason, outcome, error, payload, inputs, lane, arrival, root_id, parent_id, depth,
        replay_of, mode, rehearsal_id, rehearses, due_at, finished_at)
    SELECT n.workspace_id, n.id, n.automation_id, n.version, n.trigger_id, n.trigger_type,
        n.queue, n.status, n.reason, n.outcome, n.error::json, n.payload::json,
        n.inputs::json, n.lane,
        CASE WHEN n.lane IS NULL THEN NULL ELSE nextval('lane_arrivals') END,
        n.root_id, n.parent_id, n.depth, n.replay_of, n.mode, n.rehearsal_id, n.rehearses,
        CASE WHEN n.behind THEN 'infinity' ELSE clock_timestamp() END,
        CASE WHEN n.status <> 'pending' THEN now() END
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::int4[], $5::uuid[], $6::text[],
        $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],
        $14::int8[], $15::uuid[], $16::uuid[], $17::int2[], $18::uuid[], $19::bool[],
        $20::text[], $21::uuid[], $22::uuid[])
        AS n(workspace_id, id, automation_id, version, trigger_id, trigger_type, queue, status,
            reason, outcome, error, payload, inputs, lane, root_id, parent_id, depth, replay_of,
            behind, mode, rehearsal_id, rehearses)
    ON CONFLICT (workspace_id, id) DO NOTHING
    RETURNING id
"""


def one_per_key(runs: Sequence[NewRun]) -> dict[UUID, NewRun]:
    """For each run the first of its batch with the same key, usually itself."""
    firsts: dict[tuple[UUID, str], NewRun] = {}
    found: dict[UUID, NewRun] = {}
    for run in runs:
        key = run.request.key
        same = run if key is None else firsts.setdefault((run.request.source_id, key), run)
        found[run.id] = same
    return found


async def take_keys(tx: Transaction, runs: Sequence[NewRun]) -> dict[UUID, Mapping[str, Any]]:
    """Store the keys of new firings; returns, by new id, the runs of known ones."""
    keyed = [run for run in runs if run.request.key is not None]
    if not keyed:
        return {}
    asked = [run.request for run in keyed]
    spaces = [request.workspace_id for request in asked]
    sources = [request.source_id for request in asked]
    keys = [request.key for request in asked]
    rows = await tx.fetch(
        _KEYS,
        spaces,
        sources,
        keys,
        [request.key_expires_at for request in asked],
        [run.id for run in keyed],
        [request.body_hash for request in asked],
    )
    fresh = {row["run_id"] for row in rows}
    if len(fresh) == len(keyed):
        return {}
    rows = await tx.fetch(_KNOWN, spaces, sources, keys)
    known = {(row["source_id"], row["key"]): row for row in rows}
    return {
        run.id: known[run.request.source_id, run.request.key]
        for run in keyed
        if run.id not in fresh
    }


async def release_key(tx: Transaction, request: RunRequest, run_id: UUID) -> None:
    """Release the key of a request, if it still belongs to this run."""
    await tx.execute(_RELEASE, request.workspace_id, request.source_id, request.key, run_id)


async def insert_runs(tx: Transaction, runs: Sequence[NewRun]) -> list[NewRun]:
    """All of them in one statement, in the given order; returns those that did not exist."""
    if not runs:
        return []
    columns = [list(column) for column in zip(*map(_columns, runs), strict=True)]
    made = {row["id"] for row in await tx.fetch(_RUNS, *columns)}
    return [run for run in runs if run.id in made]


def serialize_inputs(run: NewRun) -> tuple[str | None, str | None]:
    """Payload and inputs as stored; empty ones are not stored."""
    payload = run.request.payload
    return None if payload in ({}, None) else dumps(payload), dumps(dict(run.inputs) or None)


def _columns(run: NewRun) -> tuple[Any, ...]:
    request, refusal = run.request, run.refusal
    error = refusal.problem.as_dict() if refusal and refusal.problem else None
    payload, inputs = serialize_inputs(run)
    return (
        request.workspace_id,
        run.id,
        request.automation_id,
        run.version,
        request.trigger_id,
        request.trigger_type,
        run.queue,
        run.status,
        refusal.reason if refusal else None,
        refusal.outcome if refusal else None,
        dumps(error),
        payload,
        inputs,
        run.lane,
        run.root_id,
        request.parent_id,
        run.depth,
        request.replay_of,
        run.behind and refusal is None,
        request.mode,
        request.rehearsal_id,
        request.rehearses,
    )
