"""Stories of starters that look at something outside and tell when it changes."""

from __future__ import annotations

import pytest

from tests.kit.boards import values
from tests.kit.doubles.feeds import KEY as MARKET_KEY
from tests.kit.starters import StarterBench

RSS = b"""<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>
<item><guid>2</guid><title>Doors &amp; windows</title><link>https://example.com/2</link>
<pubDate>Fri, 02 Jan 2026 10:00:00 GMT</pubDate><description><![CDATA[<p>They <b>close</b>.</p>]]>
</description></item>
<item><guid>1</guid><title>We begin</title><link>https://example.com/1</link></item>
</channel></rss>"""
ATOM_ENTRY = b"""<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>tag:3</id><title>Roofs</title>
<link rel="alternate" href="https://example.com/3?a=1&amp;b=2"/><author><name>Ada</name></author>
<updated>2026-01-03T10:00:00Z</updated><summary>They hold.</summary></entry></feed>"""


async def uptime_check(shop: StarterBench) -> None:
    address = shop.web.put("/health", b"fine", "text/plain")
    made = await shop.install("uptime-check", host=shop.web.pair, path="/health", scheme="http")

    async def looked() -> list[object]:
        return values(await shop.rows(made, "uptime-board"), "address", "state", "detail")

    well = (address, "up", "It answered with status 200.")
    gone = (address, "down", "It answered with status 404.")
    await shop.fire(made)
    await shop.fire(made)
    assert await looked() == [well]
    assert await shop.notices(made) == []

    del shop.web.documents["/health"]
    await shop.fire(made)
    await shop.fire(made)
    assert await looked() == [well, gone]
    alarm = ("error", f"{address} is down", "It answered with status 404.")
    assert await shop.notices(made) == [alarm]

    shop.web.put("/health", b"fine", "text/plain")
    await shop.fire(made)
    assert await looked() == [well, gone, well]
    assert await shop.notices(made) == [
        alarm,
        ("info", f"{address} is back", "It answered with status 200."),
    ]

    # It answers with what is no HTTP, and once more.
    shop.web.script += [b"Nobody is here.\r\n\r\n"] * 2
    await shop.fire(made)
    assert values(await shop.rows(made, "uptime-board"), "state")[3:] == ["down"]
    assert (await shop.notices(made))[2][:2] == alarm[:2]
    assert shop.web.script == []


async def price_watch(shop: StarterBench) -> None:
    made = await shop.install(
        "price-watch",
        item="Night train",
        host=shop.web.pair,
        path="/fare",
        scheme="http",
        threshold=50,
        object="offer",
    )

    async def costs(price: float | str | None) -> list[object]:
        shop.web.put_json("/fare", {"offer": {"price": price, "currency": "EUR"}})
        await shop.fire(made)
        return values(await shop.rows(made, "price-board"), "item", "price", "below")

    dear, cheap = ("Night train", 79, "no"), ("Night train", 49.5, "yes")
    assert await costs(79) == [dear]
    assert await costs(79) == [dear]
    assert await shop.notices(made) == []
    assert await costs(49.5) == [dear, cheap]
    assert await costs(49.5) == [dear, cheap]
    assert await costs(45) == [dear, cheap, ("Night train", 45, "yes")]
    assert await shop.notices(made) == [
        (
            "info",
            "Night train costs 49.5",
            "That is below 50, the price that you were waiting for.",
        )
    ]

    # Shops send text too, written as they write it.
    await costs("1.299,00 EUR")
    assert (await costs("48.90"))[3:] == [
        ("Night train", 1299, "no"),
        ("Night train", 48.9, "yes"),
    ]
    with pytest.raises(AssertionError, match=r"no price now: offer\.price is null"):
        await costs(None)


async def rss_to_board(shop: StarterBench) -> None:
    feed = shop.web.put("/feed.xml", RSS, "application/rss+xml")
    made = await shop.install("rss-to-board", host=shop.web.pair, scheme="http")
    assert (await shop.fire(made))["output"] == {"read": 2, "added": 2}
    first, second = await shop.rows(made, "reading-board")
    assert first == {
        "ref": f"{feed}#2",
        "published": "2026-01-02T10:00:00.000Z",
        "title": "Doors & windows",
        "url": "https://example.com/2",
        "author": "",
        "summary": "They close .",
        "state": "new",
    }
    assert (second["title"], second["published"]) == ("We begin", None)

    shop.web.put("/feed.xml", RSS + ATOM_ENTRY)
    assert (await shop.fire(made))["output"] == {"read": 3, "added": 1}
    found = await shop.rows(made, "reading-board")
    assert values(found, "title", "url", "author")[2:] == [
        ("Roofs", "https://example.com/3?a=1&b=2", "Ada")
    ]


async def competitor_digest(shop: StarterBench) -> None:
    prices = "<html><style>p {}</style><p>Ten a month.</p><script>stamp(%d)</script></html>"
    shop.web.put("/pricing", (prices % 1).encode(), "text/html")
    shop.web.put("/blog", b"<p>We have moved.</p>", "text/html")
    made = await shop.install(
        "competitor-digest",
        competitor="Acme",
        host=shop.web.pair,
        scheme="http",
        paths="/pricing /blog /gone",
    )
    await shop.fire(made)
    (page,) = await shop.pages(made)
    assert page["title"].startswith("Acme: 20")
    assert "> Ten a month." in page["body"]
    assert "> We have moved." in page["body"]
    assert "/gone answered with status 404." in page["body"]

    shop.web.put("/pricing", (prices % 2).encode(), "text/html")
    await shop.fire(made)
    assert await shop.pages(made) == [page], "what a person does not see is no change"
    shop.web.put("/pricing", b"<p>Now twelve a month.</p>", "text/html")
    # Another page cannot be taken: what changed is not forgotten over it.
    moved = shop.web.documents["/blog"]
    shop.web.put("/blog", b"x" * 500_000, "text/html")
    with pytest.raises(AssertionError, match="response_too_large"):
        await shop.fire(made)
    shop.web.documents["/blog"] = moved
    await shop.fire(made)
    (page,) = await shop.pages(made)
    assert "It changed: 4 words, before 3." in page["body"]
    assert "We have moved" not in page["body"]
    assert [title for _, title, _ in await shop.notices(made)] == [
        "Acme: 2 pages changed",
        "Acme: 1 page changed",
    ]


async def coinmarketcap_top10(shop: StarterBench) -> None:
    first, later = "2026-03-01T10:00:00.000Z", "2026-03-01T11:00:00.000Z"
    for number in range(12):
        shop.market.quote(f"C{number}", 100.5 + number, first, last_updated=first)
    slug = await shop.publish_redirected(
        "coinmarketcap-top10", "pro-api.coinmarketcap.com", shop.market
    )
    await shop.call("publisher_secret_set", name="CMC_API_KEY", value=MARKET_KEY)
    made = await shop.install(slug)
    await shop.fire(made)
    found = await shop.pages(made, brought_by=None)
    assert len(found) == 10
    assert {
        "type": "crypto_coin_snapshot",
        "title": "C0 (C0) — $100.5",
        "source_ref": f"cmc:C0@{first}",
    }.items() <= found[0].items()
    page = await shop.call("get_page", slug=found[0]["slug"])
    assert page["frontmatter"] == {
        "symbol": "C0",
        "price_usd": "100.5",
        "market_cap_usd": "100500.0",
        "last_updated": first,
    }

    shop.market.coins[3] |= {"last_updated": later}
    await shop.fire(made)
    again = await shop.pages(made, brought_by=None)
    assert [one["source_ref"] for one in again if one not in found] == [f"cmc:C3@{later}"]
    assert len(again) == 11
