"""Poll triggers read real HTTP doubles and start one run for each new or changed item."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from mainspring.app import build_poller
from mainspring.triggers.poller import Poller
from mainspring.workspace.automations import set_state
from mainspring.workspace.polls import REMEMBERED
from tests.kit.bench import PATIENCE, Bench, document, step
from tests.kit.configured_bench import open_own_application
from tests.kit.doubles.feeds import WebDouble, web_double

Row = dict[str, Any]


@asynccontextmanager
async def world(bench: Bench) -> AsyncIterator[tuple[Bench, WebDouble]]:
    """An application that may reach a web server with documents."""
    async with (
        web_double() as web,
        open_own_application(bench, egress_allow=frozenset({web.pair})) as own,
    ):
        yield own, web


def poll(url: str, **config: Any) -> Row:
    """A poll of a JSON document with rows."""
    arguments = {"kind": "http_json", "op": "http_json.get", "ref": {"url": url}}
    made = {
        "capability": "adapter_query",
        "arguments": arguments,
        "every": "10m",
        "items": "$.rows",
        "id": "$.id",
        **config,
    }
    return {
        "id": "orders",
        "type": "poll",
        "config": {name: value for name, value in made.items() if value is not None},
    }


async def activate(bench: Bench, *triggers: Mapping[str, Any], **more: Any) -> UUID:
    more.setdefault("execution", {"concurrency": "allow_parallel"})
    saved = await bench.save(
        document(step("a", "test.echo"), triggers=list(triggers), **more), via="page"
    )
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, saved.automation_id, "active")
    return saved.automation_id


async def look(bench: Bench, poller: Poller | None = None) -> int:
    """Makes every poll that is on due, and looks."""
    await bench.application.database.execute(
        "UPDATE poll_states SET next_look_at = now() WHERE next_look_at < 'infinity'"
    )
    return await (poller or build_poller(bench.application)).once()


async def payloads(bench: Bench) -> list[Row]:
    rows = await bench.application.database.fetch("SELECT payload FROM runs ORDER BY id")
    return [row["payload"] for row in rows]


async def items(bench: Bench) -> list[tuple[Any, str]]:
    return [(one["item"]["id"], one["change"]) for one in await payloads(bench)]


async def state(bench: Bench) -> Row:
    row = await bench.application.database.fetchrow("SELECT * FROM poll_states")
    assert row is not None
    return dict(row)


async def alerts(bench: Bench) -> list[tuple[str, str]]:
    rows = await bench.application.database.fetch(
        "SELECT level, title FROM notifications ORDER BY created_at, id"
    )
    return [(row["level"], row["title"]) for row in rows]


def rows(*ids: Any) -> list[Row]:
    return [{"id": one, "status": "open"} for one in ids]


async def test_a_silent_first_look_starts_nothing_and_later_items_start_one_run_each(
    bench: Bench,
) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", rows(1, 2))
        await activate(own, poll(url))
        assert await look(own) == 1
        assert await items(own) == []
        web.put_json("/orders", rows(4, 3, 2, 1))
        await look(own)
        await look(own)
        assert await items(own) == [(4, "new"), (3, "new")]
        [first, _] = await payloads(own)
        assert first["item"] == {"id": 4, "status": "open"}
        assert first["looked_at"].endswith("Z")
        found = await state(own)
        assert (found["items"], found["failures"], found["problem"]) == (4, 0, None)
        assert found["next_look_at"] - found["succeeded_at"] >= timedelta(minutes=9)


async def test_the_runs_see_the_item_and_the_trigger_remembers_when_it_fired(
    bench: Bench,
) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", rows(1))
        plan = step("a", "test.echo", {"text": "{{ trigger.item.id }} {{ trigger.change }}"})
        saved = await own.save(document(plan, triggers=[poll(url, first_look="fire")]))
        async with own.application.database.transaction() as tx:
            await set_state(tx, own.application.workspace_id, saved.automation_id, "active")
        async with own.worker():
            await look(own)
            run_id = await own.application.database.fetchval("SELECT id FROM runs")
            run = await own.until(run_id)
        assert run["status"] == "succeeded"
        assert run["trigger_type"] == "poll"
        assert await own.application.database.fetchval("SELECT last_fired_at FROM triggers")


async def test_a_first_look_that_fires_is_bounded_and_the_rest_follows_even_if_it_disappears(
    bench: Bench,
) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", rows(*range(5)))
        await activate(own, poll(url, first_look="fire", max_items=2))
        await look(own)
        assert await items(own) == [(0, "new"), (1, "new")]
        # The source no longer lists what was left, and has something newer.
        web.put_json("/orders", rows(9))
        await look(own)
        assert [one for one, _ in await items(own)] == [0, 1, 2, 3]
        await look(own)
        assert [one for one, _ in await items(own)] == [0, 1, 2, 3, 4, 9]
        await look(own)
        assert len(await items(own)) == 6


async def test_items_that_wait_start_their_runs_also_when_the_source_fails(bench: Bench) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", rows(1, 2))
        await activate(own, poll(url, first_look="fire", max_items=1))
        await look(own)
        web.documents.clear()
        await look(own)
        assert [one for one, _ in await items(own)] == [1, 2]
        assert (await state(own))["failures"] == 1


async def test_a_change_fires_also_when_the_item_changes_back(bench: Bench) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", [{"id": 1, "status": "open", "seen": 1}])
        await activate(own, poll(url, changed_on="$.status"))
        await look(own)
        for status in ("paid", "paid", "open", "paid"):
            web.put_json("/orders", [{"id": 1, "status": status, "seen": 2}])
            await look(own)
        changes = [(one["item"]["status"], one["change"]) for one in await payloads(own)]
        assert changes == [("paid", "changed"), ("open", "changed"), ("paid", "changed")]


async def test_without_changed_on_an_item_that_changes_starts_nothing(bench: Bench) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", [{"id": 1, "status": "open"}])
        await activate(own, poll(url))
        await look(own)
        web.put_json("/orders", [{"id": 1, "status": "paid"}])
        await look(own)
        assert await items(own) == []


async def test_a_batch_is_one_run_for_new_items_and_one_for_changed_ones(bench: Bench) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", rows(1, 2))
        await activate(own, poll(url, per="batch", changed_on="$.status"))
        await look(own)
        web.put_json("/orders", [*rows(3, 4), {"id": 1, "status": "paid"}, *rows(2)])
        await look(own)
        found = {
            one["change"]: [entry["id"] for entry in one["items"]] for one in await payloads(own)
        }
        assert found == {"new": [3, 4], "changed": [1]}


async def test_a_restart_between_looks_neither_loses_nor_repeats_an_item(bench: Bench) -> None:
    async with web_double() as web:
        url = web.put_json("/orders", rows(1))
        allow = frozenset({web.pair})
        async with open_own_application(bench, egress_allow=allow) as before:
            await activate(before, poll(url))
            await look(before)
        web.put_json("/orders", rows(2, 1))
        async with open_own_application(bench, egress_allow=allow) as after:
            await look(after)
            assert await items(after) == [(2, "new")]
        web.put_json("/orders", rows(3, 2, 1))
        async with open_own_application(bench, egress_allow=allow) as last:
            await look(last)
            assert await items(last) == [(2, "new"), (3, "new")]


async def test_many_missed_looks_are_made_up_for_by_one(bench: Bench) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", rows(1))
        await activate(own, poll(url))
        await look(own)
        await own.application.database.execute(
            "UPDATE poll_states SET next_look_at = now() - interval '3 days'"
        )
        poller = build_poller(own.application)
        assert await poller.once() == 1
        assert await poller.once() == 0


async def test_two_pollers_look_once_and_a_lost_one_is_replaced_when_its_lease_expires(
    bench: Bench,
) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", rows(1))
        await activate(own, poll(url, first_look="fire"))
        first, second = build_poller(own.application), build_poller(own.application)
        counts = await asyncio.gather(first.once(), second.once())
        assert sorted(counts) == [0, 1]
        assert len(web.seen) == 1
        # A poller died with the next look in its hands.
        await own.application.database.execute(
            "UPDATE poll_states SET next_look_at = now(), lease = gen_random_uuid(),"
            " leased_until = now() + interval '1 hour'"
        )
        assert await second.once() == 0
        await own.application.database.execute("UPDATE poll_states SET leased_until = now()")
        assert await second.once() == 1
        assert await items(own) == [(1, "new")]


async def test_a_look_that_outlives_its_lease_writes_nothing(bench: Bench) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", rows(1))
        await activate(own, poll(url, first_look="fire"))
        stolen = False

        def steal(point: str) -> None:
            nonlocal stolen
            stolen = stolen or point == "looked"

        application = own.application
        slow = Poller(
            application.database,
            application.gate,
            application.versions,
            application.dispatcher,
            application.limits,
            mail=False,
            lease=timedelta(0),
            hook=steal,
        )
        [mine] = await slow._claim(1)
        result = await slow._read(mine)
        # Another process took the look over and finished it.
        assert await build_poller(application).once() == 1
        await slow._write(mine, result)
        assert await items(own) == [(1, "new")]
        assert (await state(own))["failures"] == 0


async def test_a_failing_source_is_reported_once_backed_off_and_its_recovery_recorded(
    bench: Bench,
) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", rows(1))
        await activate(own, poll(url), name="Orders")
        await look(own)
        web.documents.clear()
        delays, found = [], await state(own)
        for _ in range(4):
            await look(own)
            found = await state(own)
            delays.append(round((found["next_look_at"] - found["last_look_at"]).total_seconds()))
        assert delays == [60, 120, 240, 480]
        assert found["failures"] == 4
        assert found["problem"]["detail"]
        assert await alerts(own) == [("error", "Orders cannot read its source")]
        web.put_json("/orders", rows(2, 1))
        await look(own)
        found = await state(own)
        assert (found["failures"], found["problem"], found["failing_since"]) == (0, None, None)
        assert found["recovered_at"] is not None
        assert await alerts(own) == [
            ("error", "Orders cannot read its source"),
            ("info", "Orders can read its source again"),
        ]
        # What appeared meanwhile counts.
        assert await items(own) == [(2, "new")]
        await look(own)
        assert len(await alerts(own)) == 2


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"items": "$.missing"}, "poll_items_missing"),
        ({"id": "$.number"}, "poll_id_missing"),
    ],
)
async def test_a_source_of_another_shape_is_a_failure_and_not_an_empty_look(
    bench: Bench, config: Row, code: str
) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", rows(1))
        await activate(own, poll(url, **config))
        await look(own)
        found = await state(own)
        assert found["problem"]["code"] == code
        assert found["problem"]["suggestion"]
        assert found["reported_at"] is not None


async def test_a_changed_source_begins_anew_and_silently(bench: Bench) -> None:
    async with world(bench) as (own, web):
        one, other = web.put_json("/a", rows(1)), web.put_json("/b", rows(7, 8))
        await activate(own, poll(one))
        await look(own)
        await activate(own, poll(other))
        await look(own)
        assert await items(own) == []
        web.put_json("/b", rows(9, 8, 7))
        await look(own)
        assert await items(own) == [(9, "new")]


async def test_another_interval_keeps_what_was_seen(bench: Bench) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", rows(1))
        await activate(own, poll(url, every="1d"))
        await look(own)
        await activate(own, poll(url, every="5m"))
        due = await own.application.database.fetchval(
            "SELECT next_look_at <= now() + interval '5 minutes' FROM poll_states"
        )
        assert due
        web.put_json("/orders", rows(2, 1))
        await look(own)
        assert await items(own) == [(2, "new")]


async def test_a_paused_automation_is_not_read_for_and_catches_up_when_it_is_resumed(
    bench: Bench,
) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", rows(1))
        automation = await activate(own, poll(url))
        await look(own)
        space = own.application.workspace_id
        async with own.application.database.transaction() as tx:
            await set_state(tx, space, automation, "paused")
        web.put_json("/orders", rows(2, 1))
        assert await look(own) == 0
        assert len(web.seen) == 1
        async with own.application.database.transaction() as tx:
            await set_state(tx, space, automation, "active")
        assert await build_poller(own.application).once() == 1
        assert await items(own) == [(2, "new")]


async def test_nothing_is_read_without_a_grant_that_fits(bench: Bench) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", rows(1))
        await activate(own, poll(url))
        await own.application.database.execute("UPDATE automation_versions SET grants = '[]'")
        own.application.versions.forget()
        await look(own)
        assert web.seen == []
        assert (await state(own))["problem"]["code"] == "not_granted"


async def test_the_grant_is_derived_with_exactly_the_arguments_of_the_trigger(
    bench: Bench,
) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", rows(1))
        await activate(own, poll(url))
        grants = await own.application.database.fetchval("SELECT grants FROM automation_versions")
        [grant] = [one for one in grants if one["capability"] == "adapter_query"]
        assert grant["params"] == poll(url)["config"]["arguments"]


async def test_each_look_is_recorded_as_a_call(bench: Bench) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", rows(1))
        automation = await activate(own, poll(url))
        await look(own)
        async with asyncio.timeout(PATIENCE):
            while not (
                row := await own.application.database.fetchrow(
                    "SELECT capability, outcome, actor_kind, actor_id FROM direct_calls"
                )
            ):
                await asyncio.sleep(0.01)
        assert tuple(row) == ("adapter_query", "read", "run", automation)


async def test_items_that_the_source_no_longer_lists_are_forgotten_within_bounds(
    bench: Bench,
) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", rows(*range(10)))
        await activate(own, poll(url))
        await look(own)
        database = own.application.database
        web.put_json("/orders", rows(8, 9))
        await database.execute("UPDATE poll_items SET seen_at = now() - $1::interval", REMEMBERED)
        await look(own)
        assert await database.fetchval("SELECT count(*) FROM poll_items") == 2
        small = replace(own.application.limits, poll_seen=3)
        application = replace(own.application, limits=small)
        for first in (10, 20, 30):
            web.put_json("/orders", rows(first, first + 1))
            await look(own, build_poller(application))
        assert await database.fetchval("SELECT count(*) FROM poll_items") == 3


async def test_the_loop_looks_by_itself_and_stops(bench: Bench) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/orders", rows(1))
        await activate(own, poll(url, first_look="fire"))
        stop = asyncio.Event()
        task = asyncio.create_task(build_poller(own.application).run(stop))
        try:
            async with asyncio.timeout(PATIENCE):
                while not await payloads(own):
                    await asyncio.sleep(0.01)
        finally:
            stop.set()
            await task
        assert await items(own) == [(1, "new")]
