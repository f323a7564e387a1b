"""Events start runs: exactly one for each event and trigger that match."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.event import EventQuery
from mainspring.contracts.ids import generate_id
from mainspring.runs.run_requests import RunRequest
from mainspring.store.events import EventTable
from mainspring.triggers import matcher as matching_module
from mainspring.triggers.event_consumers import list_event_consumers
from mainspring.triggers.log_reader import StalePreparation
from mainspring.workspace.automations import ensure_workspace, set_state
from tests.kit.bench import Bench, step
from tests.kit.events import ECHO, listen, match_all, matcher_of, matching, runs_of, tell


async def test_an_event_starts_the_automations_whose_filters_let_it_through(bench: Bench) -> None:
    pdf = await listen(bench, "pdf", "file.added", {"kind": "pdf"})
    every = await listen(bench, "every", "file.added")
    await listen(bench, "other", "file.removed")
    (event_id,) = await tell(bench.application, "file.added", {"kind": "pdf", "name": "x"})
    await match_all(bench.application)

    runs = await runs_of(bench.application)
    assert {run["automation_id"] for run in runs} == {pdf, every}
    async with bench.worker():
        for run in runs:
            ended = await bench.until(run["id"])
            assert ended["status"] == "succeeded"
            assert ended["output"] == {"kind": "pdf", "name": "x"}
    async with bench.application.database.acquire() as connection:
        found = await list_event_consumers(connection, bench.application.workspace_id, event_id)
    assert {one["automation_id"] for one in found} == {pdf, every}
    assert {one["run_id"] for one in found} == {run["id"] for run in runs}


async def test_the_fixed_inputs_of_a_trigger_reach_the_run(bench: Bench) -> None:
    automation = await listen(
        bench,
        "fixed",
        "file.added",
        None,
        step("say", "transform_data", {"output": "{{ inputs.to }}"}),
        trigger={"inputs": {"to": "me"}},
        inputs={"schema": {"type": "object", "properties": {"to": {"type": "string"}}}},
    )
    await tell(bench.application, "file.added", {})
    await match_all(bench.application)
    (run,) = await runs_of(bench.application, automation)
    async with bench.worker():
        assert (await bench.until(run["id"]))["output"] == "me"


async def test_inputs_that_do_not_fit_are_a_failed_run_with_a_reason(bench: Bench) -> None:
    automation = await listen(
        bench,
        "needs",
        "file.added",
        None,
        ECHO,
        inputs={
            "schema": {
                "type": "object",
                "required": ["to"],
                "properties": {"to": {"type": "string"}},
            }
        },
    )
    await tell(bench.application, "file.added", {})
    await match_all(bench.application)
    (run,) = await runs_of(bench.application, automation)
    assert (run["status"], run["reason"]) == ("failed", "invalid_inputs")


async def test_an_event_published_before_the_trigger_was_armed_starts_nothing(bench: Bench) -> None:
    await tell(bench.application, "file.added", {})
    automation = await listen(bench, "late", "file.added")
    await tell(bench.application, "file.added", {})
    await match_all(bench.application)
    assert len(await runs_of(bench.application, automation)) == 1


async def test_triggers_that_come_change_and_go_are_noticed_at_once(bench: Bench) -> None:
    application = bench.application
    matcher = matcher_of(application)
    first = await listen(bench, "first", "file.added", {"kind": "a"})
    await tell(application, "file.added", {"kind": "a"})
    await match_all(application, matcher)
    assert len(await runs_of(application, first)) == 1

    await listen(bench, "first", "file.added", {"kind": "b"})
    second = await listen(bench, "second", "file.added")
    await tell(application, "file.added", {"kind": "a"}, {"kind": "b"})
    await match_all(application, matcher)
    assert len(await runs_of(application, first)) == 2
    assert len(await runs_of(application, second)) == 2

    async with application.database.transaction() as tx:
        await set_state(tx, application.workspace_id, first, "paused")
    await tell(application, "file.added", {"kind": "b"})
    await match_all(application, matcher)
    assert len(await runs_of(application, first)) == 2
    assert len(await runs_of(application, second)) == 3


async def test_an_event_of_another_workspace_starts_nothing_here(bench: Bench) -> None:
    automation = await listen(bench, "mine", "file.added")
    other = generate_id()
    async with bench.application.database.transaction() as tx:
        await ensure_workspace(tx, other, "Other")
    await tell(bench.application, "file.added", {}, space=other)
    assert await match_all(bench.application) == 1
    assert await runs_of(bench.application, automation) == []


async def test_concurrent_matchers_start_one_run_for_each_match(bench: Bench) -> None:
    application = bench.application
    automations = [await listen(bench, f"a{n}", "file.added", {"n": n}) for n in range(4)]
    every = await listen(bench, "every", "file.added")
    async with matching(application, 3):
        for _ in range(20):
            await tell(application, "file.added", *({"n": n} for n in range(5)))
        async with asyncio.timeout(60):
            while len(await runs_of(application)) < 20 * 9:
                await asyncio.sleep(0.02)
    for automation in automations:
        assert len(await runs_of(application, automation)) == 20
    runs = await runs_of(application, every)
    keys = await application.database.fetch("SELECT DISTINCT key FROM firings")
    assert len(runs) == len(keys) == 100


async def test_an_event_that_is_matched_again_finds_its_earlier_run(bench: Bench) -> None:
    application = bench.application
    automation = await listen(bench, "once", "file.added")
    await tell(application, "file.added", {})
    await match_all(application)
    await application.database.execute("UPDATE event_cursors SET xid = '0'")
    assert await match_all(application, matcher_of(application)) >= 1
    assert len(await runs_of(application, automation)) == 1


async def test_an_event_nobody_can_read_is_reported_in_the_inbox_and_holds_up_no_other(
    bench: Bench,
) -> None:
    application = bench.application
    automation = await listen(bench, "brave", "file.added")
    (bad,) = await tell(application, "file.added", {})
    await application.database.execute(
        "UPDATE events SET payload = '{\"n\": 1e400}' WHERE id = $1", bad
    )
    await tell(application, "file.added", {"n": 1})
    await match_all(application)
    assert [run["payload"] for run in await runs_of(application, automation)] == [{"n": 1}]
    (note,) = await application.database.fetch("SELECT level, message FROM notifications")
    assert note["level"] == "error"
    assert str(bad) in note["message"]


async def test_a_burst_of_firings_is_spread_over_transactions(
    bench: Bench, monkeypatch: Any
) -> None:
    monkeypatch.setattr(matching_module, "MOST_FIRINGS", 5)
    application = bench.application
    automations = [await listen(bench, f"a{n}", "file.added") for n in range(3)]
    await tell(application, "file.added", *({"n": n} for n in range(10)))
    matcher = matcher_of(application)
    assert await matcher.reader.once() == 1
    await match_all(application, matcher)
    for automation in automations:
        assert len(await runs_of(application, automation)) == 10


async def test_when_a_trigger_fired_before_is_known_to_the_next_run(bench: Bench) -> None:
    application = bench.application
    automation = await listen(
        bench,
        "since",
        "file.added",
        None,
        step("say", "transform_data", {"output": "{{ inputs.since }}"}),
        inputs={
            "schema": {
                "type": "object",
                "properties": {
                    "since": {"type": "string", "format": "date-time", "default": "$last_fired_at"}
                },
            }
        },
    )
    for _ in range(2):
        await tell(application, "file.added", {})
        await match_all(application)
    row = await application.database.fetchrow("SELECT last_fired_at FROM triggers")
    assert row is not None
    first, second = [run["inputs"]["since"] for run in await runs_of(application, automation)]
    assert first < second < row["last_fired_at"].isoformat()


async def _settled(bench: Bench, count: int) -> list[dict[str, Any]]:
    """Waits until there are so many runs and none is under way."""
    database = bench.application.database
    async with asyncio.timeout(60):
        while True:
            found = await database.fetchrow(
                "SELECT count(*) AS made, count(finished_at) AS ended FROM runs"
            )
            assert found is not None
            if count <= found["made"] == found["ended"]:
                return [dict(row) for row in await database.fetch("SELECT * FROM runs ORDER BY id")]
            await asyncio.sleep(0.02)


def _of(name: str) -> dict[str, Any]:
    return {"automation_name": {"equals": name}}


async def test_the_end_of_one_automation_starts_the_next(bench: Bench) -> None:
    second = await listen(bench, "second", "automation.run.succeeded", _of("first"))
    await listen(bench, "third", "automation.run.failed", _of("first"))
    async with bench.worker(), matching(bench.application):
        made = await bench.dispatch(
            {"schema_version": "1.2", "name": "first", "goal": "Begin.", "plan": [ECHO]}
        )
        first, *others = await _settled(bench, 2)
    assert first["id"] == made.run_id
    assert [
        (run["automation_id"], run["parent_id"], run["root_id"], run["depth"]) for run in others
    ] == [(second, made.run_id, made.run_id, 1)]


async def test_automations_that_start_each_other_come_to_rest_with_a_record(bench: Bench) -> None:
    await listen(bench, "ping", "automation.run.succeeded", _of("pong"))
    await listen(bench, "pong", "automation.run.succeeded", _of("ping"))
    other = await listen(bench, "other", "file.added")
    ping = await bench.application.database.fetchval(
        "SELECT id FROM automations WHERE name = 'ping'"
    )
    async with bench.worker(), matching(bench.application):
        await bench.application.dispatcher.dispatch(
            RunRequest(bench.application.workspace_id, ping)
        )
        runs = await _settled(bench, bench.application.limits.chain_depth + 2)
        # The others go on.
        await tell(bench.application, "file.added", {})
        await _settled(bench, len(runs) + 1)
    assert [run["depth"] for run in runs] == list(range(bench.application.limits.chain_depth + 2))
    assert {run["status"] for run in runs[:-1]} == {"succeeded"}
    assert (runs[-1]["status"], runs[-1]["reason"]) == ("skipped", "chain_depth")
    assert runs[-1]["error"]["detail"]
    assert [run["status"] for run in await runs_of(bench.application, other)] == ["succeeded"]


async def _fan_out(bench: Bench, width: int) -> UUID:
    """A tree: the first run starts ten, each of which starts ten, three times over."""
    root = await bench.save(
        {"schema_version": "1.2", "name": "root", "goal": "Begin.", "plan": [ECHO]}
    )
    level = ["root"]
    for depth in range(3):
        names = {"$or": [_of(name) for name in level]}
        below = [f"level{depth}-{n}" for n in range(width)]
        for name in below:
            await listen(
                bench,
                name,
                "automation.run.succeeded",
                names,
                ECHO,
                execution={"concurrency": "allow_parallel"},
            )
        level = below
    return root.automation_id


async def test_a_fan_out_ends_at_the_bound_with_a_record_and_others_go_on(bench: Bench) -> None:
    application, most = bench.application, bench.application.limits.chain_runs
    root = await _fan_out(bench, 10)
    other = await listen(bench, "other", "file.added")
    async with bench.worker(slots=64), matching(application):
        await application.dispatcher.dispatch(RunRequest(application.workspace_id, root))
        for number in range(5):
            await tell(application, "file.added", {})
            async with asyncio.timeout(60):
                while len(await runs_of(application, other)) <= number:
                    await asyncio.sleep(0.01)
        runs = await _settled(bench, 1 + 10 + 100 + 1000 + 5)
    chained = [run for run in runs if run["root_id"] is not None]
    assert len(chained) == 10 + 100 + 1000
    refused = [run for run in chained if run["status"] == "skipped"]
    assert {run["reason"] for run in refused} == {"chain_runs"}
    assert len(chained) - len(refused) == most


async def test_filters_that_take_too_much_work_hold_up_nobody(bench: Bench) -> None:
    application = bench.application
    patterns = {"$or": [{"text": {"regex": f"(a|b)*c{number}"}} for number in range(90)]}
    costly = [await listen(bench, f"costly{n}", "file.added", patterns) for n in range(2)]
    light = await listen(bench, "light", "file.added", {"n": {"gte": 0}})
    await tell(application, "file.added", *({"text": "ab" * 100_000, "n": n} for n in range(3)))
    await match_all(application)
    assert [run["payload"]["n"] for run in await runs_of(application, light)] == [0, 1, 2]
    for automation in costly:
        runs = await runs_of(application, automation)
        assert {(run["status"], run["error"]["code"]) for run in runs} == {
            ("failed", "filter_too_costly")
        }
    assert await application.database.fetchval("SELECT count(*) FROM notifications") == 0


async def test_a_text_that_a_pattern_cannot_read_is_a_failed_firing(bench: Bench) -> None:
    application = bench.application
    no_name = {"$not": {"text": {"regex": r"\p{L}+ \p{L}+"}}}
    automation = await listen(bench, "no name", "file.added", no_name)
    texts = ("Ada Lovelace", "!!!", "Ada Lovelace" + "!" * 2_000)
    await tell(application, "file.added", *({"text": text} for text in texts))
    await match_all(application)
    runs = await runs_of(application, automation)
    assert [(run["payload"]["text"], run["status"]) for run in runs] == [
        (texts[1], "pending"),
        (texts[2], "failed"),
    ]
    assert runs[1]["error"]["code"] == "filter_text_unread"
    assert "reads at most 1,659 bytes" in runs[1]["error"]["detail"]


async def test_events_that_there_was_no_time_to_match_are_matched_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching_module, "MOST_SECONDS", -1.0)
    application = bench.application
    automation = await listen(bench, "slow", "file.added")
    await tell(application, "file.added", *({"n": n} for n in range(5)))
    matcher = matcher_of(application)
    assert await matcher.reader.once() == 1
    await match_all(application, matcher)
    assert [run["payload"]["n"] for run in await runs_of(application, automation)] == list(range(5))


async def test_a_filter_that_changed_while_events_were_matched_is_asked_again(
    bench: Bench,
) -> None:
    application = bench.application
    await listen(bench, "changing", "file.added", {"kind": "a"})
    await tell(application, "file.added", {"kind": "a"})
    matcher = matcher_of(application)
    async with application.database.acquire() as connection:
        events = await EventTable(application.limits).list(
            connection, application.workspace_id, EventQuery(), 1
        )
    fire = await matcher.prepare(events)
    await listen(bench, "changing", "file.added", {"kind": "b"})
    with pytest.raises(StalePreparation):
        async with application.database.transaction() as tx:
            await fire(tx, events)
    assert await runs_of(application) == []
