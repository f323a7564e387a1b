"""A worker is lost at the worst moments: the agent goes on, pays once, and does nothing twice."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from mainspring.contracts.context import CallContext
from mainspring.gate.agent_turns import FIRST_OF_AGENTS
from tests.kit.agents import (
    Loss,
    ScriptedModels,
    agents_bench,
    calls,
    capability,
    ends,
    ledger,
    pieces,
    thinking,
    transcripts,
)
from tests.kit.bench import Bench

COST = Decimal("0.00015")
POST = ("inbox_post_notification", {"title": "once"})
NATIVE = "inbox.post_notification"


async def _count(bench: Bench, table: str) -> int:
    return int(await bench.application.database.fetchval(f"SELECT count(*) FROM {table}"))


async def test_a_crash_after_a_turn_was_kept_asks_and_pays_for_it_no_more(bench: Bench) -> None:
    """The worker is lost while the second tool of the first turn is at work."""
    loss = Loss(bench)
    tries: list[str] = []

    async def breaks(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        tries.append(ctx.key)
        await loss.happen()
        return {"after": "all"}

    tool = capability("test.breaks", breaks)
    models = ScriptedModels(script=[calls(POST, ("test_breaks", {"a": 1}), POST), ends()])
    async with agents_bench(bench, models, tool) as one:
        run_id = await loss.until(one, thinking(NATIVE, "test.breaks"))
        assert (len(models.requests), await _count(bench, "notifications")) == (1, 1)
        before = await bench.application.database.fetchval(
            "SELECT reply ->> 'mark' FROM agent_turns"
        )
        async with one.worker():
            run = await one.until(run_id)
        shown = await pieces(one, run_id)
        (stored,) = await transcripts(one, run_id)
    assert (run["status"], run["output"]) == ("succeeded", {"n": 1}), run["error"]
    assert len(models.requests) == 2
    # What writes our own tables happened exactly once each; what is outside knows its key again.
    assert await _count(bench, "notifications") == 2
    assert len(tries) == 2
    assert len(set(tries)) == 1
    assert tries[0].endswith("/1.2")
    assert await ledger(bench) == (2, "0.0003")
    assert run["cost_usd"] == 2 * COST
    assert run["effects"] == 2
    # Watchers are sent everything once, and the conversation has kept its mark.
    assert [piece["kind"] for piece in shown] == [
        "turn",
        *["call", "result"] * 3,
        "turn",
        "answer",
    ]
    assert f"untrusted-{before}" in models.tool_results[0]
    assert [len(turn["calls"]) for turn in stored["turns"]] == [3, 0]
    numbers = [c["call"] for c in run["calls"] if c["capability"] != "agent.run"]
    assert numbers == [FIRST_OF_AGENTS + place for place in range(3)]


async def test_a_crash_before_a_turn_was_kept_asks_once_more_and_counts_both(bench: Bench) -> None:
    """The model has answered, and the run belongs to somebody else before that is kept."""
    loss = Loss(bench)
    models = ScriptedModels(script=[calls(POST), ends(0), ends(2)])
    models.before_answer[2] = loss.happen
    async with agents_bench(bench, models) as one:
        run_id = await loss.until(one, thinking(NATIVE))
        async with one.worker():
            run = await one.until(run_id)
    assert (run["status"], run["output"]) == ("succeeded", {"n": 2}), run["error"]
    assert models.keys[1] == models.keys[2]
    assert await _count(bench, "notifications") == 1
    # Three answers came, and three are on the books; none of them counts twice.
    assert await ledger(bench) == (3, "0.00045")
    assert run["cost_usd"] == 3 * COST
    assert run["effects"] == 1


async def test_a_crash_before_the_agent_s_own_record_repeats_nothing_at_all(bench: Bench) -> None:
    """Everything was said; only the step's end was not written."""
    lost = asyncio.Event()

    class Lose:
        """A worker that dies when it comes to write the end."""

        def __call__(self, point: str) -> None:
            if point == "end.before" and not lost.is_set():
                lost.set()
                raise asyncio.CancelledError
            if lost.is_set() and point == "claim.before":
                raise ConnectionError("This worker is dead.")

    models = ScriptedModels(script=[calls(POST), ends()])
    async with agents_bench(bench, models) as one:
        made = await one.dispatch(thinking(NATIVE))
        async with one.worker(hook=Lose(), heartbeat_seconds=60.0, lease_seconds=60.0):
            await asyncio.wait_for(lost.wait(), 20)
        # The lease of the dead has run out.
        await Loss(bench).happen()
        async with one.worker():
            run = await one.until(made.run_id)
    assert run["output"] == {"n": 1}
    assert len(models.requests) == 2
    assert await _count(bench, "notifications") == 1
    assert (run["cost_usd"], run["effects"]) == (2 * COST, 1)


async def test_a_prompt_that_is_another_after_a_crash_is_refused(bench: Bench) -> None:
    loss = Loss(bench)
    models = ScriptedModels(script=[calls(POST), ends(), ends()])
    models.before_answer[2] = loss.happen
    async with agents_bench(bench, models) as one:
        run_id = await loss.until(one, thinking(NATIVE))
        await bench.application.database.execute(
            "UPDATE agent_turns SET asked_hash = 'x' WHERE turn = 1"
        )
        async with one.worker():
            run = await one.until(run_id)
    assert (run["status"], run["reason"]) == ("failed", "call_mismatch")
    assert await _count(bench, "notifications") == 1


async def test_two_agents_that_are_at_work_for_one_run_never_both_write(bench: Bench) -> None:
    """The old owner was only frozen: its call and its turn are refused by the fence."""
    loss, frozen = Loss(bench), asyncio.Event()

    async def waits(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        if not loss.happened.is_set():
            await loss.happen()
            await frozen.wait()
        return {}

    models = ScriptedModels(script=[calls(("test_waits", {}), POST), ends()], reply=ends(9))
    async with agents_bench(bench, models, capability("test.waits", waits)) as one:
        made = await one.dispatch(thinking(NATIVE, "test.waits"))
        async with one.worker(hook=loss.hook, heartbeat_seconds=60.0, lease_seconds=60.0):
            await asyncio.wait_for(loss.happened.wait(), 20)
            async with one.worker():
                run = await one.until(made.run_id)
                frozen.set()
    assert run["output"] == {"n": 1}
    assert await _count(bench, "notifications") == 1
    rows = await bench.application.database.fetch("SELECT turn FROM agent_turns ORDER BY turn")
    assert [row["turn"] for row in rows] == [0, 1, 2]


async def test_a_run_that_is_sent_round_again_begins_another_conversation(bench: Bench) -> None:
    models = ScriptedModels(script=[calls(("cannot_do", {"reason": "No board."})), ends()])
    async with agents_bench(bench, models) as one:
        run = await one.run(thinking())
        assert run["reason"] == "agent_cannot"
        await one.application.control.retry(one.application.workspace_id, run["id"])
        async with one.worker():
            again = await one.until(run["id"], "succeeded")
    assert again["output"] == {"n": 1}
    names = await bench.application.database.fetch(
        "SELECT DISTINCT name FROM agent_turns WHERE turn = 1 ORDER BY name"
    )
    assert len(names) == 2
    assert again["cost_usd"] == 2 * COST
