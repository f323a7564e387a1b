"""The adapters of free addresses and CoinMarketCap over real HTTP, with what goes wrong there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import (
    NotFound,
    PermissionDenied,
    Problem,
    ReconnectRequired,
    UpstreamError,
)
from mainspring.contracts.integration import Adapter, Item, UnreadableItem
from mainspring.contracts.limits import Limits
from mainspring.integrations import coinmarketcap, http_json, ics, rss
from tests.kit.doubles.feeds import KEY, market_double, refusal, web_double
from tests.kit.handler_context import visiting
from tests.kit.scripted_server import http_answer
from tests.unit.integrations.test_ics import OTHERS, calendar
from tests.unit.integrations.test_rss import ATOM

LIMITS = Limits(http_response_bytes=20_000)


async def _rows(
    adapter: Adapter, ctx: CallContext, ref: Mapping[str, Any], **params: Any
) -> list[Mapping[str, Any]]:
    [operation] = adapter.operations
    found = await operation.rows(ctx, adapter.normal(ref), params)
    return [one for one in found if not isinstance(one, UnreadableItem)]


async def test_each_adapter_reads_what_is_at_its_address() -> None:
    [json_adapter] = http_json.integration({}).adapters
    [calendar_adapter] = ics.integration({}).adapters
    news = rss.integration({})
    async with web_double() as web, visiting(web.pair, integration="rss", limits=LIMITS) as ctx:
        rows = web.put_json("/rows", {"a": [{"id": 1}, {"id": 2}]})
        days = web.put("/days.ics", calendar(OTHERS), "text/calendar; charset=utf-8")
        feed = web.put("/news", ATOM, "application/atom+xml")

        found = await _rows(
            json_adapter, ctx, {"url": rows, "headers": {"Accept-Language": "de"}}, items="$.a[*]"
        )
        assert found == [{"id": 1}, {"id": 2}]
        assert web.seen[0]["accept-language"] == "de"
        events = await _rows(
            calendar_adapter, ctx, {"url": days}, start="2026-04-01", end="2026-05-01"
        )
        assert [one["title"] for one in events] == ["Holiday", "Short"]
        assert calendar_adapter.hosts is not None
        assert calendar_adapter.hosts({"url": days}) == {web.pair}
        assert [one["url"] for one in await _rows(news.adapters[0], ctx, {"url": feed})] == [
            "https://example.com/1"
        ]
        [source] = news.sources
        portion = await source.read(ctx, {"url": feed, "limit": 5}, None)
        [page] = portion.items
        assert isinstance(page, Item)
        assert page.source_ref == f"rss:{feed}#tag:example.com,2026:1"
        assert (page.type, page.title) == ("rss_entry", "Ada & Bob")
        assert page.frontmatter["published"] == "2026-01-02T01:04:05Z"


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (http_answer(404, b""), NotFound, "127.0.0.1"),
        (http_answer(403, b""), PermissionDenied, "127.0.0.1"),
        (http_answer(429, b"", "Retry-After: 7"), UpstreamError, "limits requests"),
        (http_answer(503, b""), UpstreamError, "503"),
        (http_answer(200, b"<html>"), UpstreamError, "not JSON"),
        (http_answer(200, b"[" + b"1," * 20_000 + b"1]"), UpstreamError, "larger"),
        (http_answer(302, b"", "Location: http://127.0.0.1:9/"), PermissionDenied, "approved"),
    ],
)
async def test_what_goes_wrong_over_there_is_said_by_its_name(
    answer: bytes, kind: type[Problem], says: str
) -> None:
    [adapter] = http_json.integration({}).adapters
    async with web_double() as web, visiting(web.pair, integration="x", limits=LIMITS) as ctx:
        web.script.append(answer)
        with pytest.raises(kind) as refused:
            await _rows(adapter, ctx, {"url": f"{web.url}/rows"})

    assert says in refused.value.detail
    if b"429" in answer[:20]:
        assert refused.value.retry_after == 7


async def test_the_market_is_read_with_a_key_and_a_broken_coin_keeps_no_other_away() -> None:
    async with market_double() as market:
        built = coinmarketcap.integration({"coinmarketcap": market.url})
        assert built.manifest["hosts"] == [market.pair]
        market.quote("BTC", 65_000.5, "2026-03-01T10:00:00.000Z")
        market.quote("ETH", 3_000, "2026-03-01T10:00:00.000Z", quote=[{"symbol": "EUR"}])
        market.quote("SOL", 150, "2026-03-01T10:00:00.000Z")
        async with visiting(
            market.pair, integration="coinmarketcap", secrets={"api_key": KEY}
        ) as ctx:
            [source] = built.sources
            first, broken, last = (await source.read(ctx, {"limit": 3}, None)).items
            assert isinstance(first, Item)
            assert first.source_ref == "cmc:BTC@2026-03-01T10:00:00.000Z"
            assert first.type == "crypto_coin_snapshot"
            assert first.frontmatter == {
                "symbol": "BTC",
                "price_usd": "65000.5",
                "market_cap_usd": "65000500.0",
                "last_updated": "2026-03-01T10:00:00.000Z",
            }
            assert isinstance(broken, UnreadableItem)
            assert isinstance(last, Item)
            [poll] = built.polls
            assert poll.every == "0 * * * *"
            assert len((await poll.read(ctx, {}, None)).items) == 3
            rows = await _rows(built.adapters[0], ctx, {}, limit=2)
            assert [row["symbol"] for row in rows] == ["BTC", None]
            assert await built.account(ctx) == "10000 credits a month"
            market.script.append(refusal(429, 1008, "You have hit the minute limit."))
            with pytest.raises(UpstreamError, match="minute limit") as busy:
                await source.read(ctx, {}, None)
            assert busy.value.retryable
            market.script.append(http_answer(200, b"[]"))
            with pytest.raises(UpstreamError):
                await source.read(ctx, {}, None)
    assert all(KEY.encode() in request for request in market.requests)


@pytest.mark.parametrize(
    ("status", "code", "kind", "retryable", "says"),
    [
        (429, 1008, UpstreamError, True, "minute"),
        (429, 1009, UpstreamError, False, "day"),
        (429, 1010, UpstreamError, False, "month"),
        (429, "1010", UpstreamError, False, "month"),
        (429, 1011, UpstreamError, False, "address"),
        (429, 429, UpstreamError, True, "minute"),
        (403, 1007, ReconnectRequired, False, "key"),
        (402, 1004, PermissionDenied, False, "plan"),
        (403, 1006, PermissionDenied, False, "plan"),
    ],
)
async def test_the_limits_of_the_market_differ_in_how_long_they_last(
    status: int, code: int | str, kind: type[Problem], retryable: bool, says: str
) -> None:
    async with market_double() as market:
        built = coinmarketcap.integration({"coinmarketcap": market.url})
        market.script.append(refusal(status, code, "No."))
        async with visiting(
            market.pair, integration="coinmarketcap", secrets={"api_key": KEY}
        ) as ctx:
            with pytest.raises(kind) as refused:
                await built.sources[0].read(ctx, {}, None)

    problem = refused.value
    assert type(problem) is kind
    assert (problem.retryable, problem.unsent) == (retryable, True)
    assert problem.retry_after == (60.0 if retryable else None)
    assert says in f"{problem.detail} {problem.suggestion}"
    assert "No." in problem.detail
