"""Workers killed while agents think: each goes on at its last turn, and nothing is paid twice.

The models are asked over the wire, by the provider's own client. Workers die while a model is
thinking, and right after a turn was recorded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mainspring.store.database import Connection
from mainspring.store.embedded import EmbeddedServer
from mainspring.workspace.model_connections import ModelConnectionSpec, connect
from tests.crash.crash_bench import CrashBench, open_crash_bench
from tests.crash.fork_server import ForkServer
from tests.kit.model_server import Answer, Call, ModelServer, Seen, model_server

KEY = "sk-ant-for-a-crash"
RUNS, TURNS = 6, 4
# Which moment each worker dies at, with all runs in its hands.
MOMENTS = ("thinking", "recorded")
RUN_ID = re.compile(r"This is run ([0-9a-f-]{36})\.")
PLAN: dict[str, Any] = {
    "schema_version": "1.2",
    "name": "an agent",
    "goal": "Pay for every thought once, whatever happens to the workers.",
    "plan": [
        {
            "step_id": "think",
            "action": "agent_task",
            "config": {
                "prompt": "This is run {{ run.id }}.",
                "tools": ["ledger.keep", "ledger.apply"],
                "model": "claude-sonnet-4-6",
                "max_tokens": 200,
            },
        }
    ],
    "execution": {"concurrency": "allow_parallel"},
}


def turn_of(seen: Seen) -> int:
    return sum(turn.role == "assistant" for turn in seen.turns)


def think(seen: Seen) -> Answer:
    """Two tools in each turn but the last one; every turn takes as much as any other."""
    turn = turn_of(seen)
    marks = {"mark": f"turn {turn}"}
    calls = (Call("ledger_keep", marks), Call("ledger_apply", marks)) if turn < TURNS - 1 else ()
    output = "" if calls else "It is done."
    return Answer(output, calls=calls, input_tokens=1_000, output_tokens=10, seconds=0.25)


def conversations(server: ModelServer) -> dict[str, list[int]]:
    """By run: the turns that were asked for, in the order in which they arrived."""
    found: dict[str, list[int]] = {}
    for seen in server.seen:
        result = RUN_ID.search(seen.turns[0].text)
        assert result is not None
        found.setdefault(result[1], []).append(turn_of(seen))
    return found


async def _fetch(bench: CrashBench, query: str) -> Sequence[Any]:
    async def read(connection: Connection) -> Sequence[Any]:
        return await connection.fetch(query)

    found: Sequence[Any] = await bench.ask(read)
    return found


async def _connect(bench: CrashBench, server: ModelServer) -> None:
    output = {"kind": "anthropic", "base_url": server.url}
    async with bench.application.database.transaction() as tx:
        await connect(
            tx, bench.application.vault, ModelConnectionSpec(None, "anthropic", output, KEY, None)
        )


async def _kill_at(bench: CrashBench, server: ModelServer, moment: str) -> None:
    turns = "SELECT count(*) AS many FROM agent_turns WHERE turn > 0"
    before = (await _fetch(bench, turns))[0]["many"]

    async def come() -> bool:
        more = (await _fetch(bench, turns))[0]["many"] > before
        return more and (moment == "recorded" or server.at_work > 0)

    await bench.until(come, 60, f"a model is {moment}")
    [worker] = bench.pool.alive
    worker.kill()
    await bench.let_leases_run_out()
    bench.pool.start()


async def test_agents_survive_the_death_of_their_workers_and_pay_for_no_turn_twice(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path
) -> None:
    async with (
        model_server(think, key=KEY) as server,
        open_crash_bench(
            durable_server,
            fork_server,
            folder,
            lease=5.0,
            poll=0.2,
            slots=RUNS,
            takeovers=len(MOMENTS) + 1,
        ) as bench,
    ):
        await _connect(bench, server)
        await bench.dispatch(await bench.save(PLAN), RUNS)
        bench.pool.start()
        for moment in MOMENTS:
            await _kill_at(bench, server, moment)
        await bench.until_final(300)
        statuses = await bench.statuses(bench.runs)
        turns = await _fetch(
            bench, "SELECT run_id, turn, cost_usd, at FROM agent_turns WHERE turn > 0"
        )
        asks = await _fetch(bench, "SELECT run_id, cost_usd, input_tokens FROM llm_usage")
        [books] = await _fetch(
            bench, "SELECT (SELECT sum(usd) FROM spend) AS spent, sum(cost_usd) AS runs FROM runs"
        )
        stored = [row["value"] for row in await _fetch(bench, "SELECT value FROM automation_kv")]
        applied = bench.ledger.begun()
    assert set(statuses.values()) == {"succeeded"}
    assert server.refusals == []
    _paid_once(server, turns, asks, books)
    assert len(stored) == RUNS * (TURNS - 1)
    assert set(stored) == {1}, "a tool's write was done twice"
    assert len({entry.key for entry in applied}) == 2 * RUNS * (TURNS - 1)


def _paid_once(server: ModelServer, turns: Sequence[Any], asks: Sequence[Any], books: Any) -> None:
    """What is recorded was asked for and booked once; what was lost was asked for once more."""
    recorded = Counter((row["run_id"], row["turn"]) for row in turns)
    assert len(recorded) == RUNS * TURNS
    assert set(recorded.values()) == {1}
    cost = turns[0]["cost_usd"]
    assert {row["cost_usd"] for row in turns} == {cost}
    # Nobody heard what a killed worker was answered, so the ledger has each turn once.
    assert len(asks) == RUNS * TURNS
    assert books["spent"] == books["runs"] == cost * len(asks)
    answer = conversations(server)
    assert len(answer) == RUNS
    for order in answer.values():
        # A turn that came after another was recorded is never followed by that other.
        assert order == sorted(order), order
        assert set(order) == set(range(TURNS))
    again = sum(len(order) for order in answer.values()) - RUNS * TURNS
    assert 1 <= again <= len(MOMENTS) * RUNS
