"""The witness: triggers in the test's database that note every change as it is committed.

The engine's own columns say how things are; these tables say how they came to be: which
process claimed a run and when, which fence a record was written under, how far a lease
reached. A note is written in the transaction that it is about, so what was undone left
no note. The writing process is known by the name its connection gave to the server.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from mainspring.store.database import Connection

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# The last step and the end of its run are one statement, after which both are noted: what counts
# is how the run was before its writer's transaction.
_WRITES = """
    SELECT s.*, coalesce(before.was, s.run_status) AS run_stood
    FROM witness_steps s LEFT JOIN LATERAL (
        SELECT m.was FROM witness_runs m
        WHERE m.tx = s.tx AND m.run_id = s.run_id AND m.fence = s.fence
        ORDER BY m.n LIMIT 1
    ) AS before ON true
    ORDER BY s.at, s.n
"""

_INSTALL = """
CREATE TABLE witness_runs (
    at timestamptz NOT NULL DEFAULT clock_timestamp(), n bigint GENERATED ALWAYS AS IDENTITY,
    pid integer, run_id uuid, was text, status text, worker integer, fence integer,
    takeovers integer, tx xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX witness_runs_tx ON witness_runs (tx, run_id);
CREATE TABLE witness_steps (
    at timestamptz NOT NULL DEFAULT clock_timestamp(), n bigint GENERATED ALWAYS AS IDENTITY,
    pid integer, run_id uuid, step text, item text, status text, fence integer,
    run_fence integer, run_status text, tx xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE TABLE witness_workers (
    at timestamptz NOT NULL DEFAULT clock_timestamp(), n bigint GENERATED ALWAYS AS IDENTITY,
    worker integer, of_pid integer, lease_until timestamptz, gone boolean
);
CREATE FUNCTION witness_pid() RETURNS integer LANGUAGE sql AS
    $$ SELECT nullif(split_part(current_setting('application_name'), ':', 2), '')::integer $$;
CREATE FUNCTION witness_run() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO witness_runs (pid, run_id, was, status, worker, fence, takeovers)
    VALUES (witness_pid(), NEW.id, OLD.status, NEW.status, NEW.worker, NEW.fence, NEW.takeovers);
    RETURN NULL;
END $$;
CREATE FUNCTION witness_step() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO witness_steps (pid, run_id, step, item, status, fence, run_fence, run_status)
    SELECT witness_pid(), NEW.run_id, NEW.step, NEW.item, NEW.status, NEW.fence, r.fence, r.status
    FROM runs r WHERE r.workspace_id = NEW.workspace_id AND r.id = NEW.run_id;
    RETURN NULL;
END $$;
CREATE FUNCTION witness_worker() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE
    it workers := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    INSERT INTO witness_workers (worker, of_pid, lease_until, gone)
    VALUES (it.id, split_part(it.name, '/', 2)::integer, it.lease_until, TG_OP = 'DELETE');
    RETURN NULL;
END $$;
CREATE TRIGGER witness AFTER UPDATE ON runs FOR EACH ROW EXECUTE FUNCTION witness_run();
CREATE TRIGGER witness AFTER INSERT OR UPDATE ON steps
    FOR EACH ROW EXECUTE FUNCTION witness_step();
CREATE TRIGGER witness AFTER INSERT OR UPDATE OR DELETE ON workers
    FOR EACH ROW EXECUTE FUNCTION witness_worker();
"""


@dataclass(frozen=True, slots=True)
class Move:
    """A run changed: its status, its owner or its fence."""

    at_ns: int
    pid: int
    run_id: UUID
    was: str
    status: str
    worker: int | None
    fence: int
    takeovers: int

    @property
    def is_claim(self) -> bool:
        return self.status == "running" and self.was != "running"


@dataclass(frozen=True, slots=True)
class Written:
    """A step's record was written, under a fence, to a run that had one at that moment."""

    at_ns: int
    pid: int
    run_id: UUID
    step: str
    item: str
    status: str
    fence: int
    run_fence: int
    run_status: str


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's lease was taken, renewed or ended."""

    at_ns: int
    worker: int
    pid: int
    until_ns: int
    gone: bool


async def install(connection: Connection) -> None:
    """From here on every change is noted."""
    await connection.execute(_INSTALL)


async def read_moves(connection: Connection) -> list[Move]:
    rows = await connection.fetch("SELECT * FROM witness_runs ORDER BY at, n")
    return [
        Move(
            ns(row["at"]),
            row["pid"],
            row["run_id"],
            row["was"],
            row["status"],
            row["worker"],
            row["fence"],
            row["takeovers"],
        )
        for row in rows
    ]


async def read_writes(connection: Connection) -> list[Written]:
    rows = await connection.fetch(_WRITES)
    return [
        Written(
            ns(row["at"]),
            row["pid"],
            row["run_id"],
            row["step"],
            row["item"],
            row["status"],
            row["fence"],
            row["run_fence"],
            row["run_stood"],
        )
        for row in rows
    ]


async def read_leases(connection: Connection) -> list[Lease]:
    rows = await connection.fetch("SELECT * FROM witness_workers ORDER BY at, n")
    return [
        Lease(ns(row["at"]), row["worker"], row["of_pid"], ns(row["lease_until"]), row["gone"])
        for row in rows
    ]


def ns(timestamp: datetime) -> int:
    """Nanoseconds since 1970, exactly as far as the database keeps time."""
    return (timestamp - EPOCH) // timedelta(microseconds=1) * 1_000
