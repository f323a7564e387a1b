"""Declarative integrations at work: each item once, secrets nowhere, hostile answers."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest

from mainspring.contracts.errors import Conflict
from mainspring.recipes.compiling import compile_automation
from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.automation_resources import check_secrets_set
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.key_rotation import rotate
from tests.kit.bench import Bench
from tests.kit.boards import Boards
from tests.kit.codex import Codex, recipe
from tests.kit.configured_bench import open_own_application
from tests.kit.declarative_integration import PRINTED
from tests.kit.scripted_server import ScriptedDouble, http_answer, serving

KEY = "b54bcf4d-1bca-4e8e-9a24-22ff2c3d462c"
MAPPING: dict[str, Any] = PRINTED["mapping"]


@dataclass(slots=True)
class Source(ScriptedDouble):
    """An API that answers as the test says, and what it was asked."""

    answer: Callable[[str, dict[str, str], bytes], bytes] = lambda *_: said({"data": []})
    asked: list[str] = field(default_factory=list)

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        target = head.split(b" ", 2)[1].decode()
        self.asked.append(target)
        return self.answer(target, headers, body)

    def heard(self) -> list[str]:
        """What was asked since the last time."""
        found, self.asked = self.asked, []
        return found


def said(value: Any, *headers: str, status: int = 200) -> bytes:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return http_answer(status, body, "Content-Type: application/json", *headers)


def coin(symbol: str, at: str = "t1", **more: Any) -> dict[str, Any]:
    return {"name": symbol.title(), "symbol": symbol, "last_updated": at, **more}


def printed(url: str, **more: Any) -> dict[str, Any]:
    """The documented object, led to a double."""
    made = copy.deepcopy(PRINTED)
    made["endpoints"][0] |= {"url": f"{url}/v1/cryptocurrency/listings/latest?limit=10", **more}
    return made


def plain(url: str, **more: Any) -> dict[str, Any]:
    """One without a key."""
    endpoint = {"op": "items", "url": f"{url}/items", **more}
    return {
        "slug": "some-items",
        "name": "Some items",
        "endpoints": [endpoint],
        "mapping": MAPPING,
        "trigger": {"kind": "cron", "cron": "0 * * * *"},
    }


@dataclass(frozen=True, slots=True)
class Here:
    """An application with one way out, and somebody who looks after it."""

    bench: Bench
    member: Boards
    api: Source

    async def saved(self, template: dict[str, Any]) -> UUID:
        made = compile_automation("integration", template, name="", description="")
        return (await self.bench.save(made)).automation_id

    async def run(self, automation: UUID) -> dict[str, Any]:
        application = self.bench.application
        made = await application.dispatcher.dispatch(
            RunRequest(application.workspace_id, automation)
        )
        return await self.bench.until(made.run_id)

    async def output(self, automation: UUID) -> dict[str, Any]:
        """What the step of a run that went well has to say, by its last try."""
        run = await self.run(automation)
        assert run["status"] == "succeeded", run["error"]
        step = run["steps"][-1]
        found = step["output"]
        assert isinstance(found, dict)
        return found

    async def code(self, automation: UUID) -> str:
        """How a run failed."""
        run = await self.run(automation)
        assert run["status"] == "failed", run["status"]
        return str(run["error"]["code"])

    async def pages(self) -> list[dict[str, Any]]:
        rows = await self.bench.application.database.fetch(
            "SELECT source_ref, title, frontmatter, source FROM pages "
            "WHERE type = 'crypto_coin_snapshot' ORDER BY ingested_at, source_ref"
        )
        return [dict(row) for row in rows]

    async def refs(self) -> list[str]:
        return sorted(row["source_ref"] for row in await self.pages())


@asynccontextmanager
async def place(bench: Bench) -> AsyncIterator[Here]:
    async with (
        serving(Source()) as api,
        open_own_application(bench, egress_allow=frozenset({api.pair})) as here,
        here.worker(),
    ):
        yield Here(here, Boards(here.application), api)


async def _everything(bench: Bench) -> str:
    """Every row of every table, as text."""
    database = bench.application.database
    tables = await database.fetch(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'secrets'"
    )
    found = []
    for table in tables:
        rows = await database.fetch(f'SELECT row_to_json(t)::text AS text FROM "{table[0]}" t')
        found += [row["text"] for row in rows]
    return "\n".join(found)


BITCOIN = """{"name": "Bitcoin", "symbol": "BTC", "last_updated": "2026-01-01T00:00:00.000Z",
    "quote": {"USD": {"price": 64012.12345678901234567890, "market_cap": 1.26e12}}}"""
ODD = """{"name": "{{publisher.CMC_API_KEY}}", "symbol": "ODD", "last_updated": 7,
    "quote": {"USD": {"price": null, "market_cap": true}}}"""
COINS = (BITCOIN, ODD, '{"name": "No symbol", "last_updated": "2026-01-01"}')


def market(coins: list[str]) -> Callable[[str, dict[str, str], bytes], bytes]:
    """A listing for those who have the key, which it says once more."""

    def answer(target: str, headers: dict[str, str], body: bytes) -> bytes:
        assert (target, body) == ("/v1/cryptocurrency/listings/latest?limit=10", b"")
        if headers.get("x-cmc_pro_api_key") != KEY:
            return said({"error": "no"}, status=401)
        return said(f'{{"echo": "{KEY}", "data": [{",".join(coins)}]}}'.encode())

    return answer


async def test_the_key_of_the_workspace_is_used_by_those_who_may(bench: Bench) -> None:
    async with place(bench) as here:
        member, application = here.member, here.bench.application
        here.api.answer = market([*COINS])
        automation = await here.saved(printed(here.api.url))
        assert await here.code(automation) == "secret_missing"
        made = compile_automation("integration", printed(here.api.url), name="", description="")
        with pytest.raises(Conflict) as lacking:
            await check_secrets_set(
                application.database,
                application.workspace_id,
                FIRST_MEMBER,
                made,
                application.limits,
            )
        (finding,) = lacking.value.findings
        assert finding.pointer == "/plan/0/config/headers/X-CMC_PRO_API_KEY"
        assert "secrets set CMC_API_KEY --publisher" in str(finding.suggestion)

        await member.call("publisher_secret_set", name="CMC_API_KEY", value="wrong-for-now")
        assert await here.code(automation) == "http_status"
        stored = await member.call("publisher_secret_set", name="CMC_API_KEY", value=KEY)
        assert "value" not in stored
        with pytest.raises(Conflict, match="CMC_API_KEY"):
            await member.call("automation_secret_set", name="cmc_api_key", value="x")
        await rotate(application.database, application.vault.keyring)
        assert (await here.output(automation))["ingested_count"] == 2

        everything = await _everything(here.bench)
        assert KEY not in everything
        assert "publisher.CMC_API_KEY" in everything, "the audit log says which secret was used"
        await application.database.execute(
            "UPDATE members SET role = 'editor' WHERE user_id = $1", FIRST_MEMBER
        )
        assert await here.code(automation) == "publisher_secret_denied"
        await member.call("publisher_secret_delete", name="CMC_API_KEY")
        assert (await member.call("publisher_secret_list"))["secrets"] == []


async def test_the_documented_object_brings_each_snapshot_in_once(bench: Bench) -> None:
    async with place(bench) as here:
        coins, member = [*COINS], here.member
        here.api.answer = market(coins)
        await member.call("publisher_secret_set", name="CMC_API_KEY", value=KEY)
        automation = await here.saved(printed(here.api.url))
        first = await here.output(automation)
        assert first["ingested_count"] == 2
        assert [one["code"] for one in first["errors"]] == ["source_ref_missing"]
        bitcoin, odd = sorted(await here.pages(), key=lambda one: str(one["source_ref"]))
        assert bitcoin == {
            "source_ref": "cmc:BTC@2026-01-01T00:00:00.000Z",
            "title": "Bitcoin (BTC) — $64012.12345678901234567890",
            "frontmatter": {
                "symbol": "BTC",
                "price_usd": "64012.12345678901234567890",
                "market_cap_usd": "1.26e12",
                "last_updated": "2026-01-01T00:00:00.000Z",
            },
            "source": "recipe:coinmarketcap-top10",
        }
        assert odd["title"] == "{{publisher.CMC_API_KEY}} (ODD) — $null"
        assert odd["frontmatter"]["market_cap_usd"] == "true"
        problems = (await member.call("list_ingest_problems"))["problems"]
        assert [one["source_ref"] for one in problems] == ["cmc:[snapshot item 3]"]

        again = await here.output(automation)
        assert (again["ingested_count"], len(await here.pages())) == (0, 2)
        coins[:] = [coins[0].replace("2026-01-01T00", "2026-01-01T01"), coins[1], coins[0]]
        assert (await here.output(automation))["ingested_count"] == 1
        assert (await member.call("list_ingest_problems"))["problems"] == []


async def test_pages_of_others_are_left_alone(bench: Bench) -> None:
    async with place(bench) as here:
        await here.member.call(
            "create_page", slug="mine", title="Mine", type="note", body="x", source_ref="cmc:BTC@t1"
        )
        here.api.answer = lambda *_: said({"data": [coin("BTC"), coin("ETH")]})
        result = await here.output(await here.saved(plain(here.api.url)))
        assert [one["code"] for one in result["errors"]] == ["page_of_another"]
        assert await here.refs() == ["cmc:ETH@t1"]
        # The name of a recipe is said by anybody; a page belongs to who brought it in.
        here.api.answer = lambda *_: said({"data": [coin("ETH", name="Evil")]})
        other = await here.saved({**plain(f"{here.api.url}/evil"), "name": "Another"})
        result = await here.output(other)
        assert [one["code"] for one in result["errors"]] == ["page_of_another"]
        assert ["Evil" in str(page["title"]) for page in await here.pages()] == [False]


async def test_pages_go_on_with_the_next_install_of_their_recipe(bench: Bench) -> None:
    async with place(bench) as here:
        codex, database = Codex(here.bench.application), here.bench.application.database

        def news(version: str, **more: Any) -> dict[str, Any]:
            template = {**plain(here.api.url, **more), "slug": "news"}
            grants = compile_automation("integration", template, name="n", description="d")
            return recipe(
                "news",
                "integration",
                template,
                version=version,
                grants=grants["grants"],
                hosts=[here.api.url.removeprefix("http://")],
            )

        async def title_after(made: dict[str, Any], title: str) -> list[str]:
            await database.execute("UPDATE consents SET status = 'agreed'")
            await database.execute(
                "UPDATE automations SET agreed_version = version, agreed_via = 'page', "
                "state = 'active' WHERE state = 'paused'"
            )
            here.api.answer = lambda *_: said({"data": [coin("ETH", name=title)]})
            await here.output(UUID(made["id"]))
            return [str(page["title"]).split()[0] for page in await here.pages()]

        await codex.publish(news("1.0.0"))
        made = (await codex.apply("news"))["created"]
        assert await title_after(made, "One") == ["One"]
        await codex.publish(news("1.1.0", query={"a": "b"}))
        await codex.upgrade(made)
        assert await title_after(made, "Two") == ["Two"]
        other = (await codex.apply("news"))["created"]
        assert await title_after(other, "Never") == ["Two"], "two that stand do not fight"
        await codex.call("uninstall_recipe", entity_id=made["id"])
        await codex.call("recover_recipe", entity_id=made["id"])
        assert await title_after(made, "Three") == ["Three"]
        await codex.call("uninstall_recipe", entity_id=made["id"])
        assert await title_after(other, "Four") == ["Four"]


async def test_page_after_page_in_all_three_ways(bench: Bench) -> None:
    async with place(bench) as here:
        api = here.api
        sheets = {"1": ["A", "B"], "2": ["C", "D"], "3": ["E"]}

        def by_cursor(target: str, headers: dict[str, str], body: bytes) -> bytes:
            at = json.loads(body).get("cursor", "1")
            following = str(int(at) + 1) if at != "3" else None
            return said({"data": [coin(one, "c") for one in sheets[at]], "next_cursor": following})

        api.answer = by_cursor
        paging: dict[str, Any] = {"kind": "cursor", "next": "$.next_cursor", "param": "cursor"}
        one = await here.saved(plain(api.url, method="POST", json={"a": 1}, paging=paging))
        result = await here.output(one)
        assert (result["ingested_count"], result["more"], len(api.heard())) == (5, False, 3)

        def by_page(target: str, headers: dict[str, str], body: bytes) -> bytes:
            asked = parse_qs(urlsplit(target).query)
            assert asked["per_page"] == ["2"]
            return said({"data": [coin(one, "p") for one in sheets.get(asked["page"][0], [])]})

        api.answer = by_page
        paging = {"kind": "page", "param": "page", "start": 1, "size_param": "per_page", "size": 2}
        two = await here.saved({**plain(api.url, paging=paging), "name": "By page"})
        assert (await here.output(two))["ingested_count"] == 5
        assert len(api.heard()) == 3

        def by_link(target: str, headers: dict[str, str], body: bytes) -> bytes:
            at = parse_qs(urlsplit(target).query).get("after", ["1"])[0]
            link = f'</items?after={int(at) + 1}&key=echo>; rel="prev next"; title="a, b"'
            shown = said({"data": [coin(one, "l") for one in sheets[at]]}, f"Link: {link}")
            return shown if at != "3" else said({"data": [coin("E", "l")]})

        api.answer = by_link
        template = plain(api.url, paging={"kind": "link", "max_pages": 2}, query={"key": "mine"})
        three = await here.saved({**template, "name": "By link"})
        result = await here.output(three)
        assert (result["ingested_count"], result["more"]) == (4, True)
        assert api.heard() == ["/items?key=mine", "/items?after=2&key=mine"]
        result = await here.output(three)
        assert (result["ingested_count"], result["more"]) == (1, False)
        assert api.heard() == ["/items?after=3&key=mine"], "it goes on where it stopped"
        assert len(await here.refs()) == 15


async def test_a_reading_that_breaks_off_goes_on_and_writes_nothing_twice(bench: Bench) -> None:
    async with place(bench) as here:
        api, tries = here.api, list[str]()

        def breaks(target: str, headers: dict[str, str], body: bytes) -> bytes:
            asked = parse_qs(urlsplit(target).query)
            at = asked.get("cursor", ["1"])[0]
            tries.append(f"{at} since {asked.get('since', ['-'])[0]}")
            if at == "2" and tries.count(tries[-1]) == 1:
                return said({}, "Retry-After: 0", status=503)
            rows = {"1": ["A"], "2": ["B"]}[at]
            data = [coin(one, f"{tries[-1][-1]}", n=90 if one == "A" else 1e2) for one in rows]
            return said({"data": data, "next": "2" if at == "1" else None})

        api.answer = breaks
        template = plain(
            api.url,
            paging={"kind": "cursor", "next": "$.next", "param": "cursor"},
            cursor={"field": "$.n", "param": "since"},
        )
        automation = await here.saved(template)
        result = await here.output(automation)
        assert result["ingested_count"] == 1, "what the try before kept is not written again"
        assert tries == ["1 since -", "2 since -", "2 since -"], "page 1 was not asked for twice"
        assert await here.refs() == ["cmc:A@-", "cmc:B@-"]
        tries.clear()
        await here.output(automation)
        assert tries[0] == "1 since 100.0", "the highest counts once the last page is kept"

        gone = ['{"place": {"cursor": "9"}, "since": "5"}']
        await here.bench.application.database.execute(
            "UPDATE integration_cursors SET cursor = "
            "(jsonb_build_object('shape', cursor ->> 'shape') || $1::text::jsonb)::json",
            *gone,
        )
        tries.clear()

        def forgets(target: str, headers: dict[str, str], body: bytes) -> bytes:
            tries.append(target)
            if "cursor=9" in target:
                return said({}, status=410)
            return said({"data": [], "next": None})

        api.answer = forgets
        assert (await here.output(automation))["ingested_count"] == 0
        assert tries == ["/items?cursor=9&since=5", "/items?since=5"]


async def test_what_has_not_changed_is_not_sent_again(bench: Bench) -> None:
    async with place(bench) as here:
        api, state = here.api, {"tag": '"v1"'}

        def tagged(target: str, headers: dict[str, str], body: bytes) -> bytes:
            if headers.get("if-none-match") == state["tag"]:
                return http_answer(304, b"")
            return said({"data": [coin("A", state["tag"])]}, f"ETag: {state['tag']}")

        api.answer = tagged
        automation = await here.saved(plain(api.url, conditional=True))
        assert (await here.output(automation))["ingested_count"] == 1
        result = await here.output(automation)
        assert result["note"] == "Nothing has changed since the last time."
        state["tag"] = '"v2"'
        assert (await here.output(automation))["ingested_count"] == 1
        made = compile_automation(
            "integration",
            {**plain(api.url, conditional=True), "mapping": {**MAPPING, "title": "{{symbol}}!"}},
            name="",
            description="",
        )
        assert (await here.bench.save(made)).automation_id == automation
        assert (await here.output(automation))["ingested_count"] == 1, "mapped anew, asked anew"


HOSTILE: dict[str, tuple[bytes, str]] = {
    "huge": (said(b'{"data": ["' + b"x" * 600_000 + b'"]}'), "response_too_large"),
    "deep": (said(b"[" * 5_000 + b"]" * 5_000), "answer_unreadable"),
    "no JSON": (said(b"<html>"), "answer_unreadable"),
    "not a number": (said(b'{"data": [NaN]}'), "answer_unreadable"),
    "no UTF-8": (said(b'{"data": ["\xff"]}'), "answer_unreadable"),
    "many": (said({"data": list(range(2_000))}), "too_many_items"),
    "a circle": (said({"data": [], "next": "1"}), "paging_circle"),
    "an odd next": (said({"data": [], "next": {"a": 1}}), "paging_unreadable"),
    "a long next": (said({"data": [], "next": "x" * 9_000}), "paging_unreadable"),
    "refused": (said({}, status=403), "http_status"),
}


async def test_hostile_answers_end_the_run_with_a_reason(bench: Bench) -> None:
    async with place(bench) as here:
        api = here.api
        paging: dict[str, Any] = {"kind": "cursor", "next": "$.next", "param": "cursor"}
        automation = await here.saved(plain(api.url, paging=paging))
        for name, (answer, code) in HOSTILE.items():
            api.answer = lambda *_, answer=answer: answer
            assert await here.code(automation) == code, name
        assert await here.refs() == []

        odd: list[Any] = [
            1,
            None,
            "text",
            [],
            {"symbol": {"a": 1}, "last_updated": "x"},
            {"symbol": "S" * 900, "last_updated": "long"},
            {"symbol": "", "last_updated": "x"},
            {**coin("NUL"), "name": "a\x00b", "quote": {"USD": {"price": "\ud800"}}},
            {**coin("FULL"), "quote": {"USD": {"price": ["x" * 50_000]}}},
            coin("GOOD"),
        ]
        api.answer = lambda *_: said({"data": odd})
        result = await here.output(automation)
        assert "cmc:GOOD@t1" in await here.refs()
        assert len(result["errors"]) + result["ingested_count"] == len(odd)

        link = ['<http://elsewhere.example/items?b=2>; rel="next"']
        api.answer = lambda *_: said({"data": [coin("LAST")]}, f"Link: {link[0]}")
        other = await here.saved({**plain(api.url, paging={"kind": "link"}), "name": "Linked"})
        assert await here.code(other) == "link_elsewhere"
        link[0] = f"<{api.url}/items>; rel=next"
        assert await here.code(other) == "paging_circle"
        assert "cmc:LAST@t1" in await here.refs(), "what came before the circle is kept"
