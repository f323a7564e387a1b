"""Housekeeping: what has expired is deleted, everything else stays, whichever process does it."""

from __future__ import annotations

import asyncio
import logging
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.contracts.clock import SystemClock
from mainspring.contracts.errors import NotFound
from mainspring.contracts.ids import generate_id, get_lowest_id_at
from mainspring.contracts.limits import Limits
from mainspring.outbound.object_storage.blob_stores import FolderStore
from mainspring.runs import retention
from mainspring.runs.control import RunControl
from mainspring.runs.rows import FINAL
from mainspring.store.database import Database
from mainspring.store.event_expiry import expire_events
from mainspring.store.partitions import drop_partitions, ensure_partitions, list_ended_partitions
from mainspring.triggers.housekeeping import Housekeeper
from mainspring.workspace.artifacts.blobs import BlobKey, blob_key
from tests.kit.bench import Bench, document, step
from tests.kit.lock_waits import until_in_line

NOW = datetime.now(UTC)


def _id(timestamp: datetime) -> UUID:
    """An id as it would have been made at a past moment."""
    return UUID(int=get_lowest_id_at(timestamp).int | secrets.randbits(60))


@dataclass
class Past:
    """An application with a history that the test makes up."""

    bench: Bench
    blobs: FolderStore
    housekeeper: Housekeeper
    automations: dict[int, UUID] = field(default_factory=dict)

    @property
    def database(self) -> Database:
        return self.bench.application.database

    @property
    def workspace_id(self) -> UUID:
        return self.bench.application.workspace_id

    async def automation(self, days: int = 90) -> UUID:
        if days not in self.automations:
            made = await self.bench.save(
                document(step("a", "test.note"), name=f"kept {days}", retention={"runs_days": days})
            )
            self.automations[days] = made.automation_id
        return self.automations[days]

    async def run(
        self, ago: float, *, kept: int = 90, status: str = "succeeded", ended: float | None = None
    ) -> UUID:
        """A run of so many days ago with a step, a call and a large result."""
        moment = NOW - timedelta(days=ago)
        run_id, space = _id(moment), self.workspace_id
        over = status in FINAL
        finished = NOW - timedelta(days=ago if ended is None else ended)
        automation = await self.automation(kept)
        async with self.database.transaction() as tx:
            await tx.execute(
                "INSERT INTO runs (workspace_id, id, automation_id, version, trigger_type, queue, "
                "status, due_at, created_at, finished_at) "
                "VALUES ($1, $2, $3, 1, 'manual', 'fast', $4, 'infinity', $5, $6)",
                space,
                run_id,
                automation,
                status,
                moment,
                finished if over else None,
            )
            await tx.execute(
                "INSERT INTO steps (workspace_id, run_id, fence, ms, attempt, run_attempt, step, "
                "status) VALUES ($1, $2, 1, 1, 1, 1, 'a', 'succeeded')",
                space,
                run_id,
            )
            await tx.execute(
                "INSERT INTO calls (workspace_id, run_id, ms, attempt, call, step, capability, "
                "outcome, arguments_hash) VALUES ($1, $2, 1, 1, 1, 'a', 'x', 'read', '\\x00')",
                space,
                run_id,
            )
            await tx.execute(
                "INSERT INTO large_results (workspace_id, run_id, id, media_type, content) "
                "VALUES ($1, $2, $3, 'application/json', '{}')",
                space,
                run_id,
                generate_id(),
            )
        return run_id

    async def month(self, ago: float) -> str:
        """Makes the partitions that runs of that time lie in."""
        moment = NOW - timedelta(days=ago)
        async with self.database.transaction() as tx:
            await ensure_partitions(tx, moment)
        return f"runs_{moment:%Y_%m}"

    async def left(self, table: str = "runs", column: str = "id") -> set[Any]:
        return {row[column] for row in await self.database.fetch(f"SELECT {column} FROM {table}")}

    async def parts(self) -> set[str]:
        rows = await self.database.fetch("SELECT relname FROM pg_class WHERE relispartition")
        return {row["relname"] for row in rows}


@pytest_asyncio.fixture
async def past(bench: Bench, tmp_path: Path) -> Past:
    blobs = FolderStore(tmp_path / "artifacts")
    housekeeper = Housekeeper(bench.application.database, blobs, SystemClock(), Limits())
    return Past(bench, blobs, housekeeper)


async def test_a_run_goes_with_everything_of_it_when_its_time_is_over(past: Past) -> None:
    await past.run(91)
    young = await past.run(89)
    removed = await past.housekeeper.once(NOW)
    assert (removed.runs, removed.failed) == (1, ())
    assert await past.left() == {young}
    for table in ("steps", "calls", "large_results"):
        assert await past.left(table, "run_id") == {young}


async def test_the_definition_says_how_long_its_runs_are_kept(past: Past) -> None:
    await past.run(8, kept=7)
    stored = {
        await past.run(6, kept=7),
        await past.run(8, kept=90),
        await past.run(200, kept=365),
    }
    assert (await past.housekeeper.once(NOW)).runs == 1
    assert await past.left() == stored


async def test_the_version_in_force_decides_about_runs_of_earlier_ones(past: Past) -> None:
    run_id = await past.run(8, kept=90)
    await past.housekeeper.once(NOW)
    assert await past.left() == {run_id}
    await past.bench.save(
        document(step("a", "test.note"), name="kept 90", retention={"runs_days": 7})
    )
    await past.housekeeper.once(NOW)
    assert await past.left() == set()


@pytest.mark.parametrize("status", ["pending", "running", "waiting"])
async def test_a_run_that_has_not_ended_is_never_deleted(past: Past, status: str) -> None:
    run_id = await past.run(400, status=status)
    await past.housekeeper.once(NOW)
    assert await past.left() == {run_id}
    assert await past.left("steps", "run_id") == {run_id}


async def test_the_time_counts_from_the_end_of_a_run(past: Past) -> None:
    run_id = await past.run(200, ended=1)
    await past.housekeeper.once(NOW)
    assert await past.left() == {run_id}


async def test_a_run_whose_draft_waits_for_a_person_stays(past: Past) -> None:
    waiting, decided, ran_out = [await past.run(200) for _ in range(3)]
    for run_id, status, days in (
        (waiting, "pending", 1),
        (decided, "discarded", 1),
        (ran_out, "pending", -1),
    ):
        await past.database.execute(
            "INSERT INTO drafts (workspace_id, id, run_id, step, capability, arguments, "
            "arguments_hash, preview, status, expires_at) "
            "VALUES ($1, $2, $3, 'a', 'x', '{}', '\\x00', 'Send.', $4, $5)",
            past.workspace_id,
            generate_id(),
            run_id,
            status,
            NOW + timedelta(days=days),
        )
    await past.housekeeper.once(NOW)
    assert await past.left() == {waiting}


async def test_a_month_in_which_nothing_is_kept_is_dropped_whole(past: Past) -> None:
    month = await past.month(200)
    for _ in range(3):
        await past.run(200)
    young = await past.run(1)
    removed = await past.housekeeper.once(NOW)
    assert month not in await past.parts()
    assert month.replace("runs", "steps") not in await past.parts()
    assert removed.runs == 0
    assert removed.partitions >= 4
    assert await past.left() == {young}


@pytest.mark.parametrize("keeper", ["unfinished", "longer", "late"])
async def test_a_month_with_one_run_to_keep_is_spared_and_the_rest_of_it_goes(
    past: Past, keeper: str
) -> None:
    month = await past.month(200)
    await past.run(200)
    made: dict[str, dict[str, Any]] = {
        "unfinished": {"status": "waiting"},
        "longer": {"kept": 365},
        "late": {"ended": 2},
    }
    run_id = await past.run(200, **made[keeper])
    removed = await past.housekeeper.once(NOW)
    assert month in await past.parts()
    assert removed.runs == 1
    assert await past.left() == {run_id}
    assert await past.left("calls", "run_id") == {run_id}


async def test_a_run_sent_round_again_after_the_look_saves_its_month(past: Past) -> None:
    month = await past.month(200)
    run_id = await past.run(200, status="failed")
    async with past.database.acquire() as connection:
        cuts = await list_ended_partitions(connection, "runs", NOW)
    cut = next(cut for cut in cuts if month.endswith(cut.name))
    assert not await retention._worth_keeping(past.database, cut, [], NOW - timedelta(days=90))
    await past.database.execute(
        "UPDATE runs SET status = 'pending', finished_at = NULL WHERE id = $1", run_id
    )
    spares = partial(retention._has_unfinished_runs, cut)
    assert await drop_partitions(past.database, retention._FAMILY, cut, spares) == []
    assert await past.left() == {run_id}


async def test_a_run_somebody_is_working_on_is_passed_over(past: Past) -> None:
    first, second = await past.run(200), await past.run(199)
    async with past.database.transaction() as tx:
        await tx.execute("SELECT 1 FROM runs WHERE id = $1 FOR UPDATE", first)
        await past.housekeeper.once(NOW)
        assert await past.left() == {first}
        assert second not in await past.left("steps", "run_id")


async def test_two_housekeepers_at_once_lose_nothing_and_leave_nothing(past: Past) -> None:
    stored = {await past.run(age % 80 + 1) for age in range(5)}
    for age in range(20):
        await past.run(100 + age)
    rounds = await asyncio.gather(*(past.housekeeper.once(NOW) for _ in range(4)))
    assert all(not removed.failed for removed in rounds)
    assert sum(removed.runs for removed in rounds) == 20
    assert await past.left() == stored


async def test_a_round_broken_off_keeps_the_batches_it_finished(
    past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.store.batch_delete.BATCH", 3)
    for age in range(10):
        await past.run(100 + age)
    await past.database.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF (SELECT count(*) FROM runs) <= 4 THEN RAISE 'the power went'; END IF; "
        "RETURN OLD; END $$"
    )
    await past.database.execute(
        "CREATE TRIGGER refuse BEFORE DELETE ON runs FOR EACH ROW EXECUTE FUNCTION refuse()"
    )
    removed = await past.housekeeper.once(NOW)
    assert removed.failed == ("runs",)
    left = await past.left()
    assert len(left) == 4
    for table in ("steps", "calls", "large_results"):
        assert await past.left(table, "run_id") == left
    assert min(left) > get_lowest_id_at(NOW - timedelta(days=104)), "the oldest went first"
    await past.database.execute("DROP TRIGGER refuse ON runs")
    assert (await past.housekeeper.once(NOW)).runs == 4


async def test_expired_keys_go_and_others_stay(past: Past) -> None:
    for name, expires in (
        ("old", NOW - timedelta(days=1)),
        ("new", NOW + timedelta(days=1)),
        ("for ever", None),
    ):
        await past.database.execute(
            "INSERT INTO firings (workspace_id, source_id, key, expires_at) "
            "VALUES ($1, $2, $3, $4)",
            past.workspace_id,
            past.workspace_id,
            name,
            expires,
        )
    assert (await past.housekeeper.once(NOW)).firings == 1
    assert await past.left("firings", "key") == {"new", "for ever"}


async def _event(past: Past, ago: float) -> UUID:
    event_id = _id(NOW - timedelta(days=ago))
    await past.database.execute(
        "INSERT INTO events (workspace_id, id, type, source_id, payload) "
        "VALUES ($1, $2, 'x', 'y', '{}')",
        past.workspace_id,
        event_id,
    )
    return event_id


async def _read_up_to(past: Past, event_id: UUID, reader: str = "triggers") -> None:
    await past.database.execute(
        "INSERT INTO event_cursors (consumer, xid, id) "
        "SELECT $2, xid, id FROM events WHERE id = $1 "
        "ON CONFLICT (consumer) DO UPDATE SET xid = excluded.xid, id = excluded.id",
        event_id,
        reader,
    )


async def test_old_events_go_once_they_were_read(past: Past) -> None:
    await _event(past, 30)
    read = await _event(past, 8)
    unread = await _event(past, 9)
    assert (await past.housekeeper.once(NOW)).events == 0, "nobody has ever read"
    await _read_up_to(past, read)
    assert (await past.housekeeper.once(NOW)).events == 2
    assert await past.left("events") == {unread}


async def test_an_old_event_waits_for_the_slowest_reader(past: Past) -> None:
    first, second = await _event(past, 30), await _event(past, 29)
    await _read_up_to(past, first, "alerts")
    assert (await past.housekeeper.once(NOW)).events == 0, "the triggers have not begun"
    await _read_up_to(past, second)
    assert (await past.housekeeper.once(NOW)).events == 1
    assert await past.left("events") == {second}


async def test_events_of_the_last_week_stay(past: Past) -> None:
    young = [await _event(past, ago) for ago in (6, 0.1)]
    await _read_up_to(past, young[-1])
    await past.housekeeper.once(NOW)
    assert await past.left("events") == set(young)


async def test_a_week_of_events_is_dropped_whole_unless_one_is_unread(past: Past) -> None:
    for ago in (60, 30):
        await past.month(ago)
        await _event(past, ago)
    read = await _event(past, 60)
    late = await _event(past, 30)
    await _read_up_to(past, read)
    gone, dropped = await expire_events(past.database, NOW - timedelta(days=7))
    week = f"events_{NOW - timedelta(days=60):%G_w%V}"
    assert week in dropped
    assert gone == 1, "the week of the unread event goes one by one"
    assert await past.left("events") == {late}


async def _artifact(
    past: Past, *, expires: datetime | None, kept: str = "default"
) -> tuple[UUID, BlobKey]:
    artifact_id = generate_id()
    key = blob_key(past.workspace_id, artifact_id, bytes(32))
    await past.blobs.put(key, b"x")
    await past.database.execute(
        "INSERT INTO artifacts (workspace_id, id, name, kind, retention, visibility, media_type, "
        "size, sha256, expires_at) VALUES ($1, $2, 'x', 'data', $3, 'private', 'a/b', 1, $4, $5)",
        past.workspace_id,
        artifact_id,
        kept,
        bytes(32),
        expires,
    )
    return artifact_id, key


async def test_an_expired_artifact_goes_with_its_bytes_and_a_permanent_one_never(
    past: Past,
) -> None:
    day = timedelta(days=1)
    old = await _artifact(past, expires=NOW - day)
    stays = [
        await _artifact(past, expires=NOW + day),
        await _artifact(past, expires=None, kept="permanent"),
        await _artifact(past, expires=NOW - day, kept="permanent"),
    ]
    assert (await past.housekeeper.once(NOW)).artifacts == 1
    assert await past.left("artifacts") == {artifact_id for artifact_id, _ in stays}
    assert await past.blobs.get(old[1]) is None
    for _, key in stays:
        assert await past.blobs.get(key) == b"x"


async def test_bytes_that_no_row_points_at_are_swept_up_within_a_day(past: Past) -> None:
    _, stored = await _artifact(past, expires=None, kept="permanent")
    orphan = blob_key(past.workspace_id, generate_id(), bytes(32))
    replaced = BlobKey(past.workspace_id, stored.artifact_id, "ab" * 16)
    for key in (orphan, replaced):
        await past.blobs.put(key, b"nobody's")
    soon = [await past.housekeeper.once(NOW + timedelta(hours=hour)) for hour in range(23)]
    assert sum(removed.orphans for removed in soon) == 0, "a step may still be at it"
    later = [await past.housekeeper.once(NOW + timedelta(days=2, hours=hour)) for hour in range(23)]
    assert sum(removed.orphans for removed in later) == 2
    assert await past.blobs.get(stored) == b"x"
    assert await past.blobs.get(orphan) is None
    assert await past.blobs.get(replaced) is None


async def test_messages_go_when_they_were_read_long_ago(past: Past) -> None:
    for name, ago, read in (("old", 91, True), ("unread", 91, False), ("young", 89, True)):
        moment = NOW - timedelta(days=ago)
        await past.database.execute(
            "INSERT INTO notifications (workspace_id, id, level, title, message, created_at, "
            "read_at) VALUES ($1, $2, 'info', $3, '', $4, $5)",
            past.workspace_id,
            _id(moment),
            name,
            moment,
            moment if read else None,
        )
    assert (await past.housekeeper.once(NOW)).messages == 1
    assert await past.left("notifications", "title") == {"unread", "young"}


async def test_replaying_a_run_waits_until_its_partition_is_dropped(
    past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    month = await past.month(200)
    old = await past.run(200, status="failed")
    control = RunControl(past.database, past.bench.application.wakeup_sender)
    asked: list[asyncio.Task[None]] = []

    async def later(*value: Any) -> list[str]:
        """The month was looked at, and is not locked yet."""
        if value[2].name in month:
            asked.append(asyncio.create_task(control.retry(past.workspace_id, old)))
            await until_in_line(past.database)
        return await drop_partitions(*value)

    monkeypatch.setattr(retention, "drop_partitions", later)
    await past.housekeeper.once(NOW)
    with pytest.raises(NotFound):
        await asked[0]
    assert await past.left() == set()


async def test_a_chore_that_fails_is_reported_and_the_others_are_done(
    past: Past, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await past.run(100)
    await _artifact(past, expires=NOW - timedelta(days=1))
    no_folder = tmp_path / "a file"
    no_folder.write_text("x")
    housekeeper = Housekeeper(past.database, FolderStore(no_folder), SystemClock(), Limits())
    with caplog.at_level(logging.INFO):
        removed = await housekeeper.once(NOW)
    assert (removed.runs, removed.artifacts, removed.failed) == (1, 1, ("orphans",))
    assert "Housekeeping task orphans failed" in caplog.text
    assert "Housekeeping removed: runs 1, artifacts 1" in caplog.text
    assert str(tmp_path) not in caplog.text


async def test_a_round_that_removes_nothing_says_nothing(
    past: Past, caplog: pytest.LogCaptureFixture
) -> None:
    await past.housekeeper.once(NOW)
    caplog.clear()
    with caplog.at_level(logging.INFO, "mainspring"):
        await past.housekeeper.once(NOW)
    assert caplog.text == ""


async def test_the_housekeeper_runs_until_it_is_stopped(
    past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    await past.run(100)
    monkeypatch.setattr("mainspring.triggers.housekeeping._FIRST_SECONDS", (0.0, 0.01))
    stop = asyncio.Event()
    task = asyncio.create_task(past.housekeeper.run(stop))
    async with asyncio.timeout(60):
        while await past.left():
            await asyncio.sleep(0.02)
        stop.set()
        await task
