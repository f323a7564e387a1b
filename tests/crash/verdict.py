"""The judge: what the rows, the ledger and the witness say about the promise.

Every function answers a list of offences in words; an empty list is a kept promise. None
of them asks the engine.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mainspring.store.database import Connection
from tests.crash.commit_log import Lease, Move, Written, ns, read_leases, read_moves, read_writes
from tests.crash.crash_bench import FIVE_STEPS_SPOTS, CrashBench, Spot
from tests.crash.side_effect_log import Entry, Place, by_place

SECOND = 1_000_000_000
# Half the lease of the product: what noticing a lost worker and claiming its runs may take.
TAKEOVER_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Record:
    """A step's record as it is at the end."""

    place: Place
    status: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that was found when the bench had come to rest."""

    dispatched: Sequence[UUID]
    runs: dict[UUID, dict[str, Any]]
    records: Sequence[Record]
    stored: dict[Place, int]
    begun: Sequence[Entry]
    moves: Sequence[Move]
    writes: Sequence[Written]
    leases: Sequence[Lease]

    def claims(self) -> dict[UUID, list[Move]]:
        found: dict[UUID, list[Move]] = defaultdict(list)
        for move in self.moves:
            if move.is_claim:
                found[move.run_id].append(move)
        return found


async def gather(bench: CrashBench) -> Evidence:
    """Reads it all in one snapshot."""

    async def read(connection: Connection) -> Evidence:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            runs = await connection.fetch("SELECT * FROM runs")
            steps = await connection.fetch("SELECT run_id, step, item, status FROM steps")
            stored = await connection.fetch("SELECT key, value FROM automation_kv")
            moves, writes = await read_moves(connection), await read_writes(connection)
            leases = await read_leases(connection)
        records = [
            Record((row["run_id"], row["step"], row["item"]), row["status"]) for row in steps
        ]
        counted = {Entry(row["key"], 0, 0, "").place: row["value"] for row in stored}
        return Evidence(
            list(bench.runs),
            {row["id"]: dict(row) for row in runs},
            records,
            counted,
            bench.ledger.begun(),
            moves,
            writes,
            leases,
        )

    found: Evidence = await bench.ask(read)
    return found


def lost_runs(found: Evidence) -> list[str]:
    """Accepted, and not there, not ended or not succeeded; or there and never accepted."""
    offences = []
    for run_id in found.dispatched:
        row = found.runs.get(run_id)
        if row is None:
            offences.append(f"run {run_id} is not there")
        elif row["status"] != "succeeded":
            offences.append(
                f"run {run_id} is {row['status']} ({row['reason']}, {row['takeovers']} takeovers, "
                f"{row['error']})"
            )
    extra = found.runs.keys() - set(found.dispatched)
    return offences + [f"run {run_id} was never handed in" for run_id in extra]


def misrecorded_steps(
    found: Evidence, spots: Collection[Spot] = FIVE_STEPS_SPOTS, among: Collection[UUID] = ()
) -> list[str]:
    """A succeeded run has one record for each step and item, and no other record."""
    records: dict[UUID, Counter[tuple[str, str, str]]] = defaultdict(Counter)
    for record in found.records:
        run_id, step, item = record.place
        records[run_id][step, item, record.status] += 1
    expected = Counter((step, item, "succeeded") for step, item in spots)
    return [
        f"run {run_id} recorded {dict(records[run_id])}"
        for run_id in among or found.dispatched
        if records[run_id] != expected
    ]


def repeated_steps(found: Evidence) -> list[str]:
    """Executions that began when the step's record had already been written.

    The moment is the witness's, taken while the record was being committed: the first
    owner began before it, and nobody else can own the run before that commit is over.
    Writes to our own tables are left out: one that begins too late finds its transaction
    closed, and what was written is judged instead.
    """
    recorded: dict[Place, int] = {}
    for write in found.writes:
        if write.status == "succeeded":
            recorded.setdefault((write.run_id, write.step, write.item), write.at_ns)
    return [
        f"{entry.key} began in process {entry.pid} "
        f"{(entry.at_ns - recorded[entry.place]) / SECOND:.3f} s after it was recorded"
        for entry in found.begun
        if entry.place in recorded and entry.place not in found.stored
        # The database keeps whole microseconds.
        if entry.at_ns > recorded[entry.place] + 1_000
    ]


def unexplained_executions(found: Evidence) -> list[str]:
    """One owner of a run begins a step once: there are never more executions than claims.

    A write to our own tables is left out: when its transaction breaks, its owner makes it
    anew, and what was written is judged instead.
    """
    claims = found.claims()
    return [
        f"{place} was executed {len(entries)} times by {len(claims[place[0]])} owners"
        for place, entries in by_place(found.begun).items()
        if len(entries) > len(claims[place[0]]) and place not in found.stored
    ]


def repeated_executions(found: Evidence) -> int:
    """Executions beyond the first: the honest limit of the promise, counted and allowed."""
    return sum(len(entries) - 1 for entries in by_place(found.begun).values())


def not_kept_once(found: Evidence, step: str = "keep") -> list[str]:
    """Writes to our own tables that are missing, or there more than once."""
    return [
        f"run {run_id} kept {found.stored.get((run_id, step, ''), 0)} times"
        for run_id in found.dispatched
        if found.stored.get((run_id, step, "")) != 1
    ]


def foreign_writes(found: Evidence) -> list[str]:
    """Records accepted under a fence that was not the run's."""
    return [
        f"process {write.pid} recorded {write.step} of {write.run_id} under fence {write.fence}, "
        f"the run had {write.run_fence} ({write.run_status})"
        for write in found.writes
        if write.fence != write.run_fence or write.run_status != "running"
    ]


def offences(found: Evidence, spots: Collection[Spot] = FIVE_STEPS_SPOTS) -> list[str]:
    """Everything that must hold for five-step runs, whatever was killed."""
    return [
        *lost_runs(found),
        *misrecorded_steps(found, spots),
        *repeated_steps(found),
        *unexplained_executions(found),
        *not_kept_once(found),
        *foreign_writes(found),
    ]


@dataclass(frozen=True, slots=True)
class Takeover:
    """A run taken from a worker: seconds since that worker's last heartbeat.

    The lease is counted from the heartbeat, so neither may be shorter than the lease.
    """

    put_back: float
    claimed: float


def takeovers(found: Evidence, lease: float) -> list[Takeover]:
    """Every time somebody else put a run back and it was claimed again."""
    ends: dict[int, int] = {}
    for entry in found.leases:
        if not entry.gone:
            ends[entry.worker] = max(entry.until_ns, ends.get(entry.worker, 0))
    histories: dict[UUID, list[Move]] = defaultdict(list)
    for move in found.moves:
        histories[move.run_id].append(move)
    return [
        Takeover(
            (back.at_ns - ends[held.worker]) / SECOND + lease,
            (again.at_ns - ends[held.worker]) / SECOND + lease,
        )
        for history in histories.values()
        for held, back, again in zip(history, history[1:], history[2:], strict=False)
        if held.worker is not None and again.is_claim and back.status == "pending"
        # A worker that gives a run back writes that itself.
        if back.pid != held.pid
    ]


def seconds_after(found: Evidence, moment_ns: int) -> float:
    """From a moment to the end of the last run."""
    ends = [ns(row["finished_at"]) for row in found.runs.values() if row["finished_at"]]
    return max((max(ends) - moment_ns) / SECOND, 0.0)
