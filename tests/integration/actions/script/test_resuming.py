"""A script that is interrupted goes on where it was: nothing it did is done twice."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from mainspring.runs.replay import replay
from mainspring.runs.run_requests import RunRequest
from tests.kit.bench import Bench
from tests.kit.boards import Boards
from tests.kit.lost_worker import Dead, lose_workers
from tests.kit.scripts import script


async def _lost_in_hang(bench: Bench, plan: dict[str, Any]) -> UUID:
    """The worker is lost while the script waits for an answer of test.hang."""
    hook = Dead()
    made = await bench.dispatch(plan)
    async with bench.worker(hook=hook, heartbeat_seconds=60.0, lease_seconds=60.0):
        await asyncio.wait_for(bench.outside.started.wait(), 30)
        hook.dead = True
        await lose_workers(bench)
    bench.outside.release.set()
    return made.run_id


STAMPED = """
    const before = new Date().toISOString(), id = crypto.randomUUID(), dice = Math.random();
    const seen = await brains["test.echo"]({ before, id, dice });
    await new Promise((done) => setTimeout(done, 20));
    await brains.append_board_rows({ board_id: "BOARD",
        rows: [{ id: seen.id, at: new Date().toISOString(), dice: Math.random() }] });
    await brains["test.note"]({ mark: new Date().toISOString() });
    await brains["test.hang"]({});
    await brains.append_board_rows({ board_id: "BOARD", rows: [{ id: crypto.randomUUID() }] });
    return { id, before, dice };
"""
TOOLS = ("test.echo", "test.note", "test.hang", "append_board_rows")


async def test_a_script_killed_in_mid_run_writes_nothing_twice(bench: Bench) -> None:
    boards = Boards(bench.application)
    board_id = await boards.create()
    plan = script(STAMPED.replace("BOARD", board_id), *TOOLS)
    run_id = await _lost_in_hang(bench, plan)
    first = await boards.rows(board_id)
    async with bench.worker():
        run = await bench.until(run_id)
    assert run["status"] == "succeeded", run["error"]
    rows = await boards.rows(board_id)
    assert len(first) == 1
    assert rows[0] == first[0]
    assert len(rows) == 2
    assert sum(bench.outside.keys.values()) == 1
    assert sum(bench.outside.tries.values()) == 3, "one look, and two tries at what was under way"
    assert rows[0]["id"] == run["output"]["id"]
    assert run["effects"] == 3


async def test_concurrent_calls_are_matched_by_their_arguments(bench: Bench) -> None:
    boards = Boards(bench.application)
    board_id = await boards.create()
    source = """
        const one = async (n) => {
            const a = await brains["test.echo"]({ n });
            await brains.append_board_rows({ board_id: "BOARD", rows: [{ n: a.n }] });
        };
        await Promise.all([1, 2, 3, 4, 5, 6].map(one));
        await brains["test.hang"]({});
        return "done";
    """.replace("BOARD", board_id)
    run_id = await _lost_in_hang(bench, script(source, *TOOLS))
    async with bench.worker():
        run = await bench.until(run_id)
    assert run["status"] == "succeeded", run["error"]
    assert sorted(row["n"] for row in await boards.rows(board_id)) == [1, 2, 3, 4, 5, 6]


async def test_a_failed_call_is_tried_again_and_what_came_before_it_is_not(bench: Bench) -> None:
    source = """
        await brains["test.note"]({ mark: "before" });
        const answer = await brains["test.flaky"]({ failures: 2 });
        await brains["test.note"]({ mark: "after" });
        return answer.tries;
    """
    plan = script(source, "test.note", "test.flaky")
    plan["execution"] = {"retry_backoff": "none"}
    run = await bench.run(plan)
    assert run["status"] == "succeeded", run["error"]
    assert run["output"] == 3
    assert bench.outside.order == ["before", "after"]
    assert [one["status"] for one in run["steps"]] == ["retrying", "retrying", "succeeded"]


async def test_a_script_that_asks_something_else_may_change_nothing_more(bench: Bench) -> None:
    source = """
        const looks = performance.now();
        await brains["test.note"]({ mark: String(looks) });
        await brains["test.hang"]({});
        return "done";
    """
    run_id = await _lost_in_hang(bench, script(source, *TOOLS))
    async with bench.worker():
        run = await bench.until(run_id)
    assert run["status"] == "failed"
    assert run["error"]["code"] == "call_mismatch"
    assert sum(bench.outside.keys.values()) == 1


KEYED = """
    const board = await brains.get_board({ name: "Posts" });
    const have = new Set(board.data.datasets.default.rows.map((row) => row.post_id));
    const found = (await brains["test.echo"]({ posts: [{ id: "p1" }, { id: "p2" }] })).posts;
    const fresh = found.filter((post) => !have.has(post.id));
    if (!fresh.length) return "nothing new";
    await brains.append_board_rows({ board_id: board.id, dedupe_key_field: "post_id",
        rows: fresh.map((post) => ({ post_id: post.id })) });
    return fresh.length;
"""


async def test_rows_double_neither_on_a_second_run_nor_a_replay_nor_for_a_teammate(
    bench: Bench,
) -> None:
    boards = Boards(bench.application)
    board_id = await boards.create("Posts")
    plan = script(KEYED, "get_board", "test.echo", "append_board_rows")
    mine = await bench.save(plan)
    theirs = await bench.save({**plan, "name": "a teammate's"})
    space = bench.application.workspace_id
    async with bench.worker():
        first = await bench.application.dispatcher.dispatch(RunRequest(space, mine.automation_id))
        run = await bench.until(first.run_id)
        assert run["output"] == 2, run["error"]
        second = await bench.application.dispatcher.dispatch(RunRequest(space, mine.automation_id))
        assert (await bench.until(second.run_id))["output"] == "nothing new"
        again = await replay(
            bench.application.database,
            bench.application.dispatcher,
            bench.application.limits,
            space,
            first.run_id,
        )
        assert (await bench.until(again.run_id))["output"] == "nothing new"
        both = [
            await bench.application.dispatcher.dispatch(RunRequest(space, one.automation_id))
            for one in (mine, theirs)
        ]
        for one in both:
            assert (await bench.until(one.run_id))["status"] == "succeeded"
    assert sorted(row["post_id"] for row in await boards.rows(board_id)) == ["p1", "p2"]
