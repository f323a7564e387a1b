"""Watching runs: every change is reported once, also to one who comes back."""

from __future__ import annotations

import pytest

from mainspring.contracts.errors import NotFound
from mainspring.contracts.ids import generate_id
from mainspring.runs.progress import RunWatch, WorkspaceWatch
from tests.kit.bench import Bench, document, step

TWO = document(step("a", "transform_data", {"output": 1}), step("b", "delay", {"seconds": 0.1}))


async def test_a_run_is_reported_from_its_first_step_to_its_end(bench: Bench) -> None:
    made = await bench.dispatch(TWO)
    watch = RunWatch(bench.application.workspace_id, made.run_id)
    async with bench.application.database.acquire() as connection:
        before = await watch.look(connection)
        assert await watch.look(connection) == []
    assert [(kind, row["status"]) for kind, row in before] == [("run", "pending")]
    async with bench.worker():
        await bench.until(made.run_id)
    async with bench.application.database.acquire() as connection:
        after = await watch.look(connection)
    assert [kind for kind, _ in after] == ["step", "step", "end"]
    assert [row["step"] for kind, row in after if kind == "step"] == ["a", "b"]


async def test_a_returning_reader_gets_only_later_events(bench: Bench) -> None:
    run = await bench.run(TWO)
    first = run["steps"][0]
    watch = RunWatch(bench.application.workspace_id, run["id"], seen=first["finished_at"])
    async with bench.application.database.acquire() as connection:
        result = await watch.look(connection)
    assert [row.get("step") for _, row in result] == ["b", None]


async def test_a_run_of_nobody_or_of_another_workspace_is_missing(bench: Bench) -> None:
    run = await bench.run(TWO)
    async with bench.application.database.acquire() as connection:
        for watch in (
            RunWatch(bench.application.workspace_id, generate_id()),
            RunWatch(generate_id(), run["id"]),
        ):
            with pytest.raises(NotFound):
                await watch.look(connection)


async def test_the_runs_of_a_workspace_are_published_when_created_and_when_ended(
    bench: Bench,
) -> None:
    watch = WorkspaceWatch(bench.application.workspace_id)
    async with bench.application.database.acquire() as connection:
        assert (await watch.look(connection))[1] == []
        made = await bench.dispatch(TWO)
        assert [row["status"] for row in (await watch.look(connection))[1]] == ["pending"]
        assert (await watch.look(connection))[1] == []
        async with bench.worker():
            await bench.until(made.run_id)
        result = (await watch.look(connection))[1]
    assert [(row["id"], row["status"]) for row in result] == [(made.run_id, "succeeded")]


async def test_what_was_over_when_the_watch_began_is_never_news(bench: Bench) -> None:
    await bench.run(TWO)
    watch = WorkspaceWatch(bench.application.workspace_id)
    async with bench.application.database.acquire() as connection:
        assert (await watch.look(connection))[1] == []
        assert (await watch.look(connection))[1] == []


async def test_a_reader_of_the_workspace_that_was_away_hears_what_ended_meanwhile(
    bench: Bench,
) -> None:
    early, late = await bench.run(TWO), await bench.run(TWO)
    before = "UPDATE runs SET finished_at = finished_at - interval '1 minute' WHERE id = $1"
    await bench.application.database.execute(before, early["id"])
    watch = WorkspaceWatch(bench.application.workspace_id, since=late["finished_at"])
    async with bench.application.database.acquire() as connection:
        result = (await watch.look(connection))[1]
    assert [row["id"] for row in result] == [late["id"]]


async def test_a_step_that_is_committed_late_is_reported_all_the_same(bench: Bench) -> None:
    run = await bench.run(TWO)
    watch = RunWatch(bench.application.workspace_id, run["id"])
    late = """
        INSERT INTO steps (workspace_id, run_id, finished_at, fence, ms, attempt, run_attempt, step,
            status)
        SELECT workspace_id, run_id, finished_at - interval '1 second', fence, ms, attempt,
            run_attempt, 'late', status
        FROM steps WHERE step = 'a'
    """
    async with bench.application.database.acquire() as connection:
        await watch.look(connection)
        await connection.execute(late)
        result = await watch.look(connection)
        again = await watch.look(connection)
    assert [row["step"] for _, row in result] == ["late"]
    assert again == []
