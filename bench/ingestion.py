"""10,000 messages from an outside system, over HTTP, into pages and events; and then once more.

Run it with the package importable: ``python -m bench.ingestion``. The yardstick writes the same
pages with bare statements in the same run, portion by portion, without events, timelines or
problems, and reads nothing. The ratio holds on any machine; the seconds are those of this one.
"""

from __future__ import annotations

import asyncio
import random
import resource
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import orjson

from bench.environment import fresh_house
from mainspring.app import Application, build_application, build_registry
from mainspring.connections.ingestion.items import IngestionOrigin
from mainspring.connections.ingestion.writing import ingest_items
from mainspring.contracts.context import Actor, CallContext, HttpRequest, Transaction
from mainspring.contracts.event import EventType
from mainspring.contracts.ids import generate_id
from mainspring.contracts.integration import Integration, Item, ItemBatch, Poll
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.pages.writer import PageWriter

MESSAGES = 10_000
PORTION = 100
WORDS = 80
# What reading, keeping and telling may take of what bare writing takes.
MOST_RATIO = 3.0
MOST_QUERIES = 0.2
RECEIVED = "post.message_received"

_ADD = """
    INSERT INTO pages (workspace_id, id, slug, type, title, body, frontmatter, source_ref, source,
        content_hash, created_by)
    SELECT $1, p.id, p.slug, 'email', p.title, p.body, p.frontmatter::jsonb, p.ref, 'bare', '', $2
    FROM unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
        AS p(id, slug, title, body, frontmatter, ref)
"""


def messages() -> list[dict[str, str]]:
    """Mails as they are: a few hundred bytes each, many with the same subject."""
    dice = random.Random(11)
    words = [
        "".join(dice.choices("aeioubcdfglmnprst", k=dice.randrange(3, 9))) for _ in range(4000)
    ]
    return [
        {
            "id": f"m{number:06}",
            "subject": f"Re: {' '.join(dice.choices(words[:40], k=3))}",
            "from": f"{dice.choice(words)}@example.com",
            "body": " ".join(dice.choices(words, k=WORDS)),
        }
        for number in range(MESSAGES)
    ]


class Post:
    """A mail server outside: pages of messages over HTTP, and the integration that reads them."""

    def __init__(self) -> None:
        self.messages = messages()
        self.pair = ""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.pair = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            yield

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                place = int(head.split(b" ", 2)[1].rpartition(b"=")[2])
                body = orjson.dumps(self.messages[place : place + PORTION])
                start = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n"
                writer.write(start.encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def read(
        self, ctx: CallContext, given: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        del given
        place = 0 if cursor is None else int(cursor["at"])
        url = f"http://{self.pair}/messages?at={place}"
        answer = await ctx.http.send(HttpRequest("GET", url, {}, {}))
        items = [item_of(one) for one in orjson.loads(answer.body)]
        end = place + len(items)
        return ItemBatch(items, {"at": end}, more=end < MESSAGES)

    def integration(self) -> Integration:
        manifest = {
            "id": "post",
            "name": "Post",
            "description": "Mails.",
            "tier": "bronze",
            "auth": {"kind": "none", "how": "Nobody signs in."},
            "hosts": [self.pair],
            "capabilities": [],
        }
        result = EventType(RECEIVED, "A mail.", {"type": "object", "properties": {"page_slug": {}}})
        polls = (Poll("messages", "New mails.", self.read),)
        return Integration(manifest, events=(result,), polls=polls)


def item_of(one: Mapping[str, str]) -> Item:
    values = {"from": one["from"], "message_id": one["id"]}
    return Item(f"post:{one['id']}", "email", one["subject"], one["body"], values, RECEIVED, values)


class Counting:
    """A transaction that counts its statements."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self.statements = 0

    async def execute(self, query: str, /, *args: Any) -> str:
        self.statements += 1
        return await self._tx.execute(query, *args)

    async def fetch(self, query: str, /, *args: Any) -> list[Any]:
        self.statements += 1
        return await self._tx.fetch(query, *args)

    async def fetchrow(self, query: str, /, *args: Any) -> Any:
        self.statements += 1
        return await self._tx.fetchrow(query, *args)


async def _bare(application: Application, post: Post) -> float:
    """The same pages with one statement for each portion, and nothing else."""
    space = application.workspace_id
    began = time.perf_counter()
    for start in range(0, MESSAGES, PORTION):
        some = post.messages[start : start + PORTION]
        async with application.database.transaction() as tx:
            await tx.execute(
                _ADD,
                space,
                FIRST_MEMBER,
                [generate_id() for _ in some],
                [f"bare-{one['id']}" for one in some],
                [one["subject"] for one in some],
                [one["body"] for one in some],
                [orjson.dumps({"from": one["from"]}).decode() for one in some],
                [f"bare:{one['id']}" for one in some],
            )
    seconds = time.perf_counter() - began
    await application.database.execute("DELETE FROM pages")
    await application.database.execute("VACUUM ANALYZE pages")
    return seconds


async def _polled(application: Application) -> tuple[float, int]:
    """Everything that is new, by the capability that automations call; seconds and pages."""
    actor = Actor(application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)
    began, count = time.perf_counter(), 0
    while True:
        found = await application.gate.direct(
            CapabilityCaller(actor), "poll_integration", {"source": "post"}
        )
        count += found["ingested_count"]
        if not found["more"]:
            return time.perf_counter() - began, count


async def _written(application: Application) -> tuple[int, ...]:
    row = await application.database.fetchrow(
        "SELECT (SELECT count(*) FROM pages) AS pages, (SELECT count(*) FROM events) AS told, "
        "(SELECT count(*) FROM page_timeline) AS notes, "
        "(SELECT coalesce(sum(xmin::text::bigint), 0) FROM pages) AS rows"
    )
    assert row is not None
    return tuple(int(value) for value in row.values())


async def _queries(application: Application, post: Post, workspace_id: UUID) -> tuple[float, float]:
    """Statements for each message: of one that is new, and of one that is known."""
    some = post.messages[:PORTION]
    fresh = [replace(item_of(one), source_ref=f"counted:{one['id']}") for one in some]
    by = PageWriter(workspace_id, "member", FIRST_MEMBER, "post")
    origin, found = IngestionOrigin("post", "post", {RECEIVED: frozenset()}), []
    for _ in range(2):
        async with application.database.transaction() as tx:
            counted = Counting(tx)
            await ingest_items(counted, fresh, origin, by, Limits())
            found.append(counted.statements / PORTION)
    return found[0], found[1]


async def _measure() -> dict[str, dict[str, float]]:
    post = Post()
    async with post.serving(), fresh_house(egress_allow=frozenset({post.pair})) as plain:
        database = plain.database
        registry = build_registry(Limits(), database=database, integrations=[post.integration()])
        application = build_application(
            plain.settings, Limits(), registry, database, plain.script_runner
        )
        try:
            floor = await _bare(application, post)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            seconds, count = await _polled(application)
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            assert count == MESSAGES, count
            stored = await _written(application)
            # Everything once more: the place is forgotten, the pages are not.
            await database.execute("DELETE FROM integration_cursors")
            again, none = await _polled(application)
            assert none == 0, none
            assert await _written(application) == stored, "a second ingestion writes nothing"
            new, known = await _queries(application, post, application.workspace_id)
        finally:
            await application.gate.aclose()
            await application.wakeup_sender.aclose()
            await application.egress.aclose()
    return {
        "bare writing": {"seconds": floor, "ratio": 1.0, "grown_mb": 0.0, "queries": 1 / PORTION},
        "ingestion": {
            "seconds": seconds,
            "ratio": seconds / floor,
            "grown_mb": grown,
            "queries": new,
        },
        "the same again": {
            "seconds": again,
            "ratio": again / floor,
            "grown_mb": 0.0,
            "queries": known,
        },
    }


def measure() -> dict[str, dict[str, float]]:
    """Seconds for all messages, against bare writing; memory; statements for each message."""
    return asyncio.run(_measure())


def show(found: Mapping[str, Mapping[str, float]]) -> None:
    print(f"{MESSAGES:,} messages {'s':>14} {'x bare':>8} {'MB more':>8} {'queries each':>13}")
    for name, row in found.items():
        print(
            f"{name:<22} {row['seconds']:>8.2f} {row['ratio']:>8.2f} {row['grown_mb']:>8.0f} "
            f"{row['queries']:>13.3f}"
        )
    one = found["ingestion"]
    verdict = "ok" if one["ratio"] <= MOST_RATIO and one["queries"] <= MOST_QUERIES else "MISSED"
    print(f"wanted: at most {MOST_RATIO:.0f} x bare and {MOST_QUERIES} queries each  {verdict}")


if __name__ == "__main__":
    show(measure())
