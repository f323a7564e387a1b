"""What an integration reads becomes pages and events once; what it cannot read is reported."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from mainspring.contracts.errors import Expired, Invalid, NotFound, UpstreamError
from mainspring.contracts.integration import Item, UnreadableItem
from mainspring.runs.run_requests import RunRequest
from tests.kit.bench import Bench, document, step
from tests.kit.boards import Boards
from tests.kit.parcels import ARRIVED, Parcels, parcel, reading


async def _counts(bench: Bench) -> tuple[int, int, int]:
    row = await bench.application.database.fetchrow(
        "SELECT (SELECT count(*) FROM pages) AS pages, "
        "(SELECT count(*) FROM events WHERE type = $1) AS told, "
        "(SELECT count(*) FROM events WHERE type = 'page.ingested') AS ingested",
        ARRIVED,
    )
    assert row is not None
    return row["pages"], row["told"], row["ingested"]


async def _written(bench: Bench) -> int:
    """Moves with whatever is written to the tables of pages and of what comes in."""
    return int(
        await bench.application.database.fetchval(
            "SELECT count(*) + coalesce(sum(xmin::text::bigint), 0) + "
            "(SELECT count(*) FROM page_timeline) + (SELECT count(*) FROM events) FROM pages"
        )
    )


def _too_large() -> Item:
    return Item("parcels:large", "parcel", "Large", "x" * 1_000_001)


def _odd_things() -> list[Item | UnreadableItem]:
    """Four that cannot be kept, each for its own reason, and one that can."""
    return [
        UnreadableItem(
            "parcels:bad", UpstreamError("The other side sent no parcel.", code="malformed")
        ),
        _too_large(),
        Item("parcels:typed", "No Type!", "Typed", ""),
        Item("parcels:liar", "parcel", "Liar", "", event="somebody.elses"),
        replace(parcel(8, "Z\x00ero" + "y" * 600), source_ref="parcels:8"),
    ]


async def test_what_was_read_is_stored_once_and_published_once(bench: Bench) -> None:
    parcels = Parcels([*(parcel(n, f"Red {n}") for n in range(7)), *_odd_things()])
    async with reading(bench, parcels) as (here, member):
        found = await member.call(
            "fetch_from_integration", source="parcels", input={"query": "all"}
        )

        assert found["ingested_count"] == len(found["page_slugs"]) == 8
        assert found["brain_id"] == str(here.application.workspace_id)
        assert (found["source"], found["request"]) == ("parcels", '{"query":"all"}')
        assert {one["source_ref"]: one["code"] for one in found["errors"]} == {
            "parcels:bad": "malformed",
            "parcels:large": "page_too_large",
            "parcels:typed": "page_type",
            "parcels:liar": "event_undeclared",
        }
        assert await _counts(here) == (8, 8, 8)
        page = await member.call("get_page", slug=found["page_slugs"][0])
        assert (page["type"], page["source"], page["source_ref"]) == (
            "parcel",
            "parcels",
            "parcels:0",
        )
        result = await here.application.database.fetchval(
            "SELECT payload FROM events WHERE type = $1 AND source_id = 'parcels:0'", ARRIVED
        )
        assert result == {"number": "0", "page_slug": found["page_slugs"][0]}
        listed = await member.call("list_ingest_problems", source="parcels")
        assert {one["source_ref"] for one in listed["problems"]} == {
            "parcels:bad",
            "parcels:large",
            "parcels:typed",
            "parcels:liar",
        }

        parcels.things = parcels.things[:7]
        await here.application.database.execute(
            "UPDATE pages SET ingested_at = now() - interval '2 days'"
        )
        before = await _written(here)
        again = await member.call(
            "fetch_from_integration", source="parcels", input={"query": "all"}
        )
        assert (again["ingested_count"], again["page_slugs"]) == (0, [])
        assert "7 more were there already" in again["note"]
        assert await _written(here) == before, "the same again writes nothing"

        # What changed is written anew and not reported again; what can be read now is no problem.
        parcels.things = [
            replace(parcel(0), body="It is heavier."),
            parcel("bad"),
            *parcels.things[1:],
        ]
        third = await member.call("fetch_from_integration", source="parcels", request="all")
        assert third["ingested_count"] == 2
        assert third["translation_log"] == ['The request was read as {"query":"all"}.']
        assert await _counts(here) == (9, 9, 10)
        left = await member.call("list_ingest_problems")
        assert "parcels:bad" not in {one["source_ref"] for one in left["problems"]}
        # A page that somebody deleted stays away.
        await member.call("delete_page", slug=found["page_slugs"][1])
        fourth = await member.call("fetch_from_integration", source="parcels", request="all")
        assert fourth["ingested_count"] == 0


async def test_a_stranger_never_writes_over_a_page_of_a_person(bench: Bench) -> None:
    async with reading(bench, Parcels([parcel(1, "Our plan")])) as (_, member):
        own = await member.call("create_page", type="note", title="Our plan", body="Ours.")
        found = await member.call("fetch_from_integration", source="parcels", request="plan")
        assert found["page_slugs"] != [own["slug"]]
        assert (await member.call("get_page", slug=own["slug"]))["body"] == "Ours."


async def test_a_call_brings_no_more_than_its_most_and_bad_input_has_its_place(
    bench: Bench,
) -> None:
    parcels = Parcels([parcel(n) for n in range(300)], size=100)
    async with reading(bench, parcels) as (here, member):
        for wrong, pointer in (
            ({"source": "parcels"}, "/input"),
            ({"source": "parcels", "input": {}, "request": "x"}, "/input"),
            ({"source": "parcels", "input": {"query": 1}}, "/input/query"),
            ({"source": "nobody", "request": "x"}, "/source"),
            ({"source": "parcels", "request": "x" * 1001}, "/request"),
            ({"source": "parcels", "request": "?"}, "/request"),
        ):
            with pytest.raises(Invalid) as refused:
                await member.call("fetch_from_integration", **wrong)
            assert pointer in {one.pointer for one in refused.value.findings}, wrong
        with pytest.raises(NotFound, match="no such workspace"):
            await member.call(
                "fetch_from_integration", source="parcels", request="all", brain_id=str(uuid4())
            )
        assert await _counts(here) == (0, 0, 0)
        few = await member.call(
            "fetch_from_integration", source="parcels", input={"query": "all", "limit": 5}
        )
        assert few["ingested_count"] == 5
        most = await member.call("fetch_from_integration", source="parcels", request="all")
        assert most["ingested_count"] == 245
        assert "more than one call brings" in most["note"]
        assert await _counts(here) == (250, 250, 250)
        # One that is busy says when to come again, and what was read before is kept.
        parcels.problems = [UpstreamError("Too many.", code="busy", retry_after=7.0)]
        with pytest.raises(UpstreamError) as busy:
            await member.call("fetch_from_integration", source="parcels", request="all")
        assert busy.value.retry_after == 7.0


async def _polled(member: Boards, **more: Any) -> dict[str, Any]:
    return await member.call("poll_integration", source="parcels", **more)


async def test_a_poll_goes_on_from_its_cursor_and_loses_and_doubles_nothing(bench: Bench) -> None:
    parcels = Parcels([parcel(n) for n in range(7)])
    parcels.forgotten = {3: UpstreamError("Gone for a moment.")}
    async with reading(bench, parcels) as (here, member):
        with pytest.raises(UpstreamError):
            await _polled(member)
        assert await _counts(here) == (3, 3, 3)
        rest = await _polled(member, poll="arrivals")
        assert (rest["ingested_count"], rest["more"]) == (4, False)
        assert parcels.looks == [0, 3, 3, 6]
        nothing = await _polled(member)
        assert nothing["ingested_count"] == 0
        parcels.things.append(parcel(7))
        # A place that the other side does not know any more: from the beginning, nothing twice.
        parcels.forgotten = {7: Expired("This history is gone.")}
        before = len(parcels.looks)
        anew = await _polled(member)
        assert parcels.looks[before:] == [7, 0, 3, 6]
        assert anew["ingested_count"] == 1
        assert await _counts(here) == (8, 8, 8)
        cursor = await here.application.database.fetchval("SELECT cursor FROM integration_cursors")
        assert cursor == {"at": 8}
        with pytest.raises(Invalid, match="no such poll"):
            await _polled(member, poll="departures")


async def test_the_place_in_one_account_says_nothing_of_another(bench: Bench) -> None:
    parcels = Parcels([parcel(n) for n in range(5)], auth="token")

    async def places() -> int:
        counted = await here.application.database.fetchval(
            "SELECT count(*) FROM integration_cursors"
        )
        return int(counted)

    async with reading(bench, parcels) as (here, member):
        await member.call("connect_integration", integration="parcels", fields={"token": "a"})
        assert (await _polled(member))["ingested_count"] == 5
        parcels.things = [parcel(f"b{n}") for n in range(4)]
        await member.call("connect_integration", integration="parcels", fields={"token": "b"})
        assert await places() == 0
        assert (await _polled(member))["ingested_count"] == 4
        assert await places() == 1
        await member.call("disconnect_integration", integration="parcels")
        assert await places() == 0


async def test_a_run_polls_under_its_grant_and_waits_as_requested(bench: Bench) -> None:
    parcels = Parcels([parcel(1)], problems=[UpstreamError("Busy.", code="busy", retry_after=0.2)])
    pinned = [{"capability": "poll_integration", "params": {"source": "parcels"}}]
    async with reading(bench, parcels) as (here, _):
        run = await here.run(
            document(step("read", "poll_integration", {"source": "parcels"}), grants=pinned)
        )
        assert (run["status"], run["output"]["ingested_count"]) == ("succeeded", 1), run["error"]
        assert await _counts(here) == (1, 1, 1)
        dry = await here.dispatch(
            document(
                step("read", "fetch_from_integration", {"source": "parcels", "request": "1"}),
                name="dry",
            ),
            mode="dry_run",
        )
        async with here.worker():
            tried = await here.until(dry.run_id)
        assert tried["output"]["ingested_count"] == 0
        assert await _counts(here) == (1, 1, 1)


async def test_a_page_that_tells_of_several_things_tells_each_of_them_once(bench: Bench) -> None:
    thread = replace(parcel("t"), news="first")
    parcels = Parcels(
        [thread, Item("parcels:bare", "", "", event=ARRIVED, payload={"number": "b"})]
    )

    async with reading(bench, parcels) as (here, member):

        async def told() -> list[str]:
            rows = await here.application.database.fetch(
                "SELECT payload FROM events WHERE type = $1 ORDER BY id", ARRIVED
            )
            return [str(row["payload"]["number"]) for row in rows]

        await _polled(member)
        assert await told() == ["t", "b"], "what makes no page is told with the cursor"
        assert await _counts(here) == (1, 2, 1)
        reply = replace(thread, body="And more.", news="second", payload={"number": "t2"})
        parcels.things = [reply]
        await member.call("fetch_from_integration", source="parcels", request="all")
        assert await told() == ["t", "b", "t2"]
        # Another change of the same page is no news, nor is the same news once more.
        parcels.things = [replace(reply, body="Read.", news=None)]
        await member.call("fetch_from_integration", source="parcels", request="all")
        parcels.things = [replace(reply, body="Unread."), *parcels.things[1:]]
        await member.call("fetch_from_integration", source="parcels", request="all")
        assert await told() == ["t", "b", "t2"]
        # What was read of it without its text leaves the text as it is.
        parcels.things = [replace(reply, body="", keeps_body=True, frontmatter={"number": "9"})]
        slug = (await member.call("fetch_from_integration", source="parcels", request="all"))[
            "page_slugs"
        ][0]
        page = await member.call("get_page", slug=slug)
        assert (page["body"], page["frontmatter"]) == ("Unread.", {"number": "9"})


async def test_a_member_has_a_source_read_again_and_again_by_an_ordinary_automation(
    bench: Bench,
) -> None:
    parcels = Parcels([parcel(1)])
    async with reading(bench, parcels) as (here, member):
        with pytest.raises(Invalid) as wrong:
            await member.call("watch_integration", source="parcels", every="every so often")
        assert {one.pointer for one in wrong.value.findings} == {"/every"}
        made = await member.call("watch_integration", source="parcels")
        assert (made["name"], made["every"], made["state"]) == (
            "Read Parcels",
            "*/10 * * * *",
            "active",
        )
        row = await here.application.database.fetchrow(
            "SELECT a.state, v.grants, t.enabled, t.config FROM automations a "
            "JOIN automation_versions v ON v.automation_id = a.id AND v.version = a.version "
            "JOIN triggers t ON t.automation_id = a.id WHERE a.id = $1",
            UUID(made["automation_id"]),
        )
        assert row is not None
        assert (row["state"], row["grants"]) == (
            "active",
            [{"capability": "poll_integration", "params": {"source": "parcels"}}],
        )
        run = await here.application.dispatcher.dispatch(
            RunRequest(here.application.workspace_id, UUID(made["automation_id"]))
        )
        async with here.worker():
            ended = await here.until(run.run_id)
        assert ended["status"] == "succeeded", ended["error"]
        assert await _counts(here) == (1, 1, 1)

        hourly = await member.call("watch_integration", source="parcels", every="0 * * * *")
        assert hourly["automation_id"] == made["automation_id"]
        stopped = await member.call("unwatch_integration", source="parcels")
        assert stopped["automation_id"] == made["automation_id"]
        again = await member.call("unwatch_integration", source="parcels")
        assert again == {"source": "parcels", "state": "stopped"}
        anew = await member.call("watch_integration", source="parcels")
        assert anew["automation_id"] != made["automation_id"]
        # What was read before is not read again.
        assert (await _polled(member))["ingested_count"] == 0


async def test_two_who_read_at_once_lose_and_double_nothing(bench: Bench) -> None:
    parcels = Parcels([parcel(n) for n in range(20)])
    async with reading(bench, parcels) as (here, member):
        at_once = [_polled(member) for _ in range(4)]
        fetched = member.call("fetch_from_integration", source="parcels", request="all")
        found = await asyncio.gather(*at_once, fetched)
        assert sum(one["ingested_count"] for one in found) == 20
        assert await _counts(here) == (20, 20, 20)
        assert (await _polled(member))["ingested_count"] == 0
