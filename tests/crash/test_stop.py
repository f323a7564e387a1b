"""SIGTERM: no new claim, short steps finish, long ones go on elsewhere, nothing is repeated."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any
from uuid import UUID

from mainspring.store.embedded import EmbeddedServer
from tests.crash.crash_bench import FIVE_STEPS, CrashBench, open_crash_bench
from tests.crash.fork_server import ForkServer
from tests.crash.verdict import (
    SECOND,
    Evidence,
    gather,
    lost_runs,
    offences,
    repeated_steps,
    unexplained_executions,
)

LEASE, STOP, EACH = 10.0, 2.0, 10


def hanging(name: str) -> dict[str, Any]:
    """A plan whose middle step goes on until the file of that name is there."""
    return {
        **FIVE_STEPS,
        "name": name,
        "plan": [
            {"step_id": "enter", "action": "ledger.apply", "config": {}},
            {"step_id": "hang", "action": "crash.hang", "config": {"until": name}},
            {"step_id": "leave", "action": "ledger.apply", "config": {}},
        ],
    }


async def test_a_worker_that_is_asked_to_stop_hands_back_what_it_cannot_finish(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path
) -> None:
    async with open_crash_bench(
        durable_server, fork_server, folder, lease=LEASE, heartbeat=1.0, stop=STOP, slots=2 * EACH
    ) as bench:
        short = await bench.dispatch(await bench.save(hanging("short")), EACH)
        long = await bench.dispatch(await bench.save(hanging("long")), EACH)
        leaving = bench.pool.start()
        await _until_hanging(bench, 2 * EACH)
        staying = bench.pool.start()
        await bench.until_at_work(staying)

        asked_ns = time.time_ns()
        leaving.signal(signal.SIGTERM)
        (folder / "short").touch()
        later = await bench.dispatch(await bench.save(FIVE_STEPS), 5)
        await bench.until_final(20, later)
        exit_code = await bench.until_ended(leaving, STOP + 5)
        left_ns = time.time_ns()
        await _until_hanging(bench, 3 * EACH)
        (folder / "long").touch()
        await bench.until_final(300)
        found = await gather(bench)

    assert exit_code == 0
    assert (left_ns - asked_ns) / SECOND <= STOP + 5
    claimed = [move for move in found.moves if move.is_claim and move.pid == leaving.pid]
    assert max(move.at_ns for move in claimed) <= asked_ns + SECOND
    assert lost_runs(found) + repeated_steps(found) + unexplained_executions(found) == []
    _judge_short(found, short, leaving.pid)
    _judge_long(found, long, leaving.pid)


async def test_runs_that_were_claimed_and_not_begun_are_handed_back(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path
) -> None:
    async with open_crash_bench(durable_server, fork_server, folder, lease=LEASE) as bench:
        await bench.dispatch(await bench.save(FIVE_STEPS), 8)
        leaving = bench.pool.start(point="claim.after", fate="stop")
        assert await bench.until_ended(leaving, STOP + 5) == 0
        assert set((await bench.statuses(bench.runs)).values()) == {"pending"}
        bench.pool.start()
        await bench.until_final(300)
        found = await gather(bench)

    assert offences(found) == []
    assert {row["takeovers"] for row in found.runs.values()} == {0}
    assert {move.pid for move in found.moves if move.is_claim} > {leaving.pid}


def _judge_short(found: Evidence, short: list[UUID], leaving: int) -> None:
    """The step under way was finished and recorded by the worker that was leaving."""
    writers = {(w.run_id, w.pid) for w in found.writes if w.step == "hang" and w.run_id in short}
    assert writers == {(run, leaving) for run in short}


def _judge_long(found: Evidence, long: list[UUID], leaving: int) -> None:
    """Handed back by the leaving worker itself, and soon running elsewhere."""
    for run in long:
        moves = [move for move in found.moves if move.run_id == run]
        first, back, again = moves[:3]
        assert (first.pid, back.pid, back.status) == (leaving, leaving, "pending")
        assert again.is_claim
        assert again.pid != leaving
        assert (again.at_ns - back.at_ns) / SECOND <= 5
        assert found.runs[run]["takeovers"] == 0


async def _until_hanging(bench: CrashBench, count: int) -> None:
    async def hangs() -> bool:
        return sum(entry.is_at("hang") for entry in bench.ledger.begun()) >= count

    await bench.until(hangs, 20, f"{count} steps are under way")
