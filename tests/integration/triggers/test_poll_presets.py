"""Presets expand to polls over the doubles of their providers, and the API tries a look."""

from __future__ import annotations

from typing import Any

from mainspring.definition.validate import validate
from tests.integration.triggers.test_poll import (
    activate,
    alerts,
    look,
    payloads,
    poll,
    rows,
    state,
    world,
)
from tests.kit.api import served
from tests.kit.bench import Bench, document, step
from tests.kit.configured_bench import open_own_application
from tests.kit.doubles.github import Repository, github_double

FEED = """<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>
<link>https://example.com</link><description>All</description>{}</channel></rss>"""
ENTRY = "<item><guid>{0}</guid><title>Entry {0}</title><link>https://example.com/{0}</link></item>"
CALENDAR = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//\r\n{}END:VCALENDAR\r\n"
EVENT = (
    "BEGIN:VEVENT\r\nUID:{0}\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:{1}\r\nDURATION:PT1H\r\n"
    "SUMMARY:{2}\r\n{3}END:VEVENT\r\n"
)


def feed(*names: str) -> bytes:
    return FEED.format("".join(map(ENTRY.format, names))).encode()


def preset(kind: str, **config: Any) -> dict[str, Any]:
    return {"id": "t", "type": kind, "config": config}


async def test_a_new_entry_of_a_feed_starts_a_run(bench: Bench) -> None:
    async with world(bench) as (own, web):
        url = web.put("/feed", feed("a"), "application/rss+xml")
        await activate(own, preset("rss_item", url=url))
        await look(own)
        web.put("/feed", feed("b", "a"), "application/rss+xml")
        await look(own)
        [found] = await payloads(own)
        assert (found["item"]["title"], found["change"]) == ("Entry b", "new")
        kind = await own.application.database.fetchval("SELECT trigger_type FROM runs")
        assert kind == "rss_item"


async def test_a_changed_page_starts_a_run_and_an_unchanged_one_does_not(bench: Bench) -> None:
    async with world(bench) as (own, web):
        url = web.put("/terms", b"one", "text/plain")
        await activate(own, preset("url_changed", url=url))
        await look(own)
        await look(own)
        assert await payloads(own) == []
        web.put("/terms", b"two", "text/plain")
        await look(own)
        [found] = await payloads(own)
        assert (found["item"]["text"], found["change"]) == ("two", "changed")


async def test_only_the_chosen_part_of_a_page_counts(bench: Bench) -> None:
    async with world(bench) as (own, web):
        url = web.put_json("/status", {"version": 1, "now": 1})
        await activate(own, preset("url_changed", url=url, part="$.json.version"))
        await look(own)
        web.put_json("/status", {"version": 1, "now": 2})
        await look(own)
        assert await payloads(own) == []
        web.put_json("/status", {"version": 2, "now": 3})
        await look(own)
        assert [one["item"]["json"]["version"] for one in await payloads(own)] == [2]


async def test_a_new_event_of_a_calendar_starts_one_run_however_often_it_recurs(
    bench: Bench,
) -> None:
    async with world(bench) as (own, web):
        url = web.put("/c.ics", CALENDAR.format("").encode(), "text/calendar")
        await activate(own, preset("calendar_event", url=url))
        await look(own)
        start = await own.application.database.fetchval(
            "SELECT to_char((now() + interval '2 days') AT TIME ZONE 'UTC',"
            ' \'YYYYMMDD"T"HH24MISS"Z"\')'
        )
        event = EVENT.format("u1", start, "Standup", "RRULE:FREQ=DAILY;COUNT=5\r\n")
        web.put("/c.ics", CALENDAR.format(event).encode(), "text/calendar")
        await look(own)
        await look(own)
        assert [one["item"]["title"] for one in await payloads(own)] == ["Standup"]


async def test_an_event_that_is_about_to_start_fires_once(bench: Bench) -> None:
    async with world(bench) as (own, web):
        moments = await own.application.database.fetchrow(
            "SELECT to_char((now() + interval '15 minutes') AT TIME ZONE 'UTC', f) AS soon,"
            " to_char((now() + interval '3 hours') AT TIME ZONE 'UTC', f) AS later"
            ' FROM (VALUES (\'YYYYMMDD"T"HH24MISS"Z"\')) AS v(f)'
        )
        assert moments is not None
        both = EVENT.format("a", moments["soon"], "Soon", "")
        both += EVENT.format("b", moments["later"], "Later", "")
        url = web.put("/c.ics", CALENDAR.format(both).encode(), "text/calendar")
        await activate(own, preset("calendar_event", url=url, starts_in_minutes=30))
        await look(own)
        await look(own)
        assert [one["item"]["title"] for one in await payloads(own)] == ["Soon"]


async def test_the_presets_without_a_public_address_say_that_a_connection_is_missing(
    bench: Bench,
) -> None:
    async with world(bench) as (own, _):
        for kind, config in (
            ("email_received", {}),
            ("email_received", {"mailbox": "gmail"}),
            ("file_added", {"query": "invoice"}),
            ("calendar_event", {}),
        ):
            await activate(own, preset(kind, **config), name="Reader")
            await look(own)
            found = (await state(own))["problem"]
            assert found["suggestion"], (kind, found)
            assert found["code"] in {"not_connected", "reconnect_required"}, (kind, found)
        assert (await alerts(own))[0] == ("error", "Reader cannot read its source")


async def test_a_new_issue_at_github_starts_a_run_and_an_updated_one_is_a_change(
    bench: Bench,
) -> None:
    async with github_double() as github:
        github.repositories["octo/hello"] = Repository()
        github.issue("octo/hello", 1, "2026-03-01T10:00:00Z")
        settings = {
            "egress_allow": frozenset({github.pair}),
            "integration_urls": {"github": github.url},
        }
        async with open_own_application(bench, **settings) as own:
            config = {"repository": "octo/hello", "event": "issue_updated"}
            await activate(own, preset("github", **config))
            await look(own)
            assert (await state(own))["problem"] is None
            assert await payloads(own) == []
            github.repositories["octo/hello"].issues[0]["updated_at"] = "2026-03-02T10:00:00Z"
            github.issue("octo/hello", 2, "2026-03-03T10:00:00Z")
            await look(own)
            found = {one["item"]["number"]: one["change"] for one in await payloads(own)}
            assert found == {1: "changed", 2: "new"}


async def test_the_api_shows_the_last_look_and_tries_one_without_remembering_it(
    bench: Bench,
) -> None:
    async with world(bench) as (own, web), served(own.application, own_app=True) as api:
        url = web.put_json("/orders", rows(1, 2))
        automation = await activate(own, poll(url, first_look="fire", max_items=1))
        at = f"/api/v1/automations/{automation}/triggers/orders"
        tried = (await api.client.post(f"{at}/look")).json()
        assert tried["sentence"] == (
            "It would look and find 2 items, 2 new and 0 changed. "
            "As its first look, it would start 1 run."
        )
        assert tried["sample"] == rows(1)
        assert await payloads(own) == []
        shown = (await api.client.get(at)).json()
        assert shown["poll"]["last_look_at"] is None
        await look(own)
        shown = (await api.client.get(at)).json()["poll"]
        assert (shown["items"], shown["waiting"], shown["failures"]) == (2, 1, 0)
        assert shown["last_look_at"] is not None
        assert shown["next_look_at"] is not None
        web.documents.clear()
        await look(own)
        [shown] = (await api.client.get(at.removesuffix("/orders"))).json()["items"]
        assert shown["poll"]["failures"] == 1
        assert shown["poll"]["problem"]["detail"]
        off = await api.client.patch(at, json={"enabled": False})
        assert off.json()["poll"]["next_look_at"] is None


def test_the_definition_of_a_poll_is_valid_without_grants(bench: Bench) -> None:
    made = document(step("a", "test.echo"), triggers=[preset("rss_item", url="https://a.example")])
    report = validate(made, bench.application.registry, bench.application.limits)
    assert report.findings == ()
