"""Feeds of every age as the same entries, and feeds that are refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mainspring.contracts.errors import Invalid, UpstreamError
from mainspring.integrations.rss.feed import parse_entries
from mainspring.integrations.rss.sources import build_source_ref, parse_request

NOW = datetime(2026, 3, 15, tzinfo=UTC)
ATOM = b"""<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>
<entry><id>tag:example.com,2026:1</id><title type="html">Ada &amp;amp; Bob</title>
<link href="https://example.com/1"/><updated>2026-01-02T03:04:05+02:00</updated>
<author><name>Ada</name></author>
<content type="html">&lt;p&gt;Hello&lt;/p&gt;&lt;script&gt;run()&lt;/script&gt;there</content>
</entry></feed>"""
RSS_2 = b"""<rss version="2.0"><channel><title>x</title>
<item><title>One</title><link>https://example.com/a</link><guid isPermaLink="false">g1</guid>
<pubDate>Tue, 03 Feb 2026 10:00:00 +0100</pubDate><description>with &lt;b&gt;force&lt;/b&gt;
</description><category>clocks</category></item>
<item><description>No title, no id.</description></item></channel></rss>"""
RSS_1 = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="x"><title>t</title></channel><item rdf:about="https://example.com/r">
<title>Old</title><link>https://example.com/r</link><dc:date>2026-01-01T00:00:00Z</dc:date>
</item></rdf:RDF>"""
BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;">]>'
    b'<rss version="2.0"><channel><item><title>&b;</title></item></channel></rss>'
)


async def test_all_three_kinds_of_feed_become_the_same_entries() -> None:
    [atom] = await parse_entries(ATOM, "application/atom+xml")
    first, second = await parse_entries(RSS_2, "application/rss+xml")
    [old] = await parse_entries(RSS_1, "text/xml")

    assert atom["id"] == "tag:example.com,2026:1"
    assert (atom["title"], atom["url"]) == ("Ada & Bob", "https://example.com/1")
    assert atom["published"] == "2026-01-02T01:04:05Z"
    assert atom["summary"].split() == ["Hello", "there"]
    assert (first["id"], first["published"]) == ("g1", "2026-02-03T09:00:00Z")
    assert (first["summary"], first["tags"]) == ("with force", ["clocks"])
    assert (second["title"], len(second["id"])) == ("No title, no id.", 32)
    assert (old["id"], old["published"]) == ("https://example.com/r", "2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    "body",
    [BOMB, BOMB.decode().encode("utf-16"), BOMB.replace(b"<!ENTITY", b"<!  entity")],
    ids=["plain", "two bytes a sign", "spelt otherwise"],
)
async def test_a_feed_with_entities_of_its_own_is_refused_in_every_encoding(body: bytes) -> None:
    with pytest.raises(UpstreamError) as refused:
        await parse_entries(body, "")

    assert refused.value.code == "feed_entities"


@pytest.mark.parametrize(
    "body",
    [b"", b"<html></html>", b"{}", b"<rss", b"<rss><channel><item><link>&#x110000;</item></rss>"],
)
async def test_what_is_no_feed_is_said_and_not_tried_again(body: bytes) -> None:
    if body == b"<rss":
        assert await _entries_or_none(body) in ([], None)
        return
    with pytest.raises(UpstreamError) as refused:
        await parse_entries(body, "text/html")

    assert not refused.value.retryable


async def _entries_or_none(body: bytes) -> list[object] | None:
    try:
        return list(await parse_entries(body, ""))
    except UpstreamError:
        return None


def test_a_feed_is_found_in_a_sentence_by_its_address() -> None:
    asked = parse_request("What is new at https://example.com/news.xml, please?", NOW)

    assert asked == {"url": "https://example.com/news.xml"}
    with pytest.raises(Invalid) as refused:
        parse_request("the news", NOW)
    assert refused.value.findings[0].pointer == "/request"


def test_the_name_of_an_entry_can_be_kept_however_long_its_address_is() -> None:
    assert build_source_ref("https://e.com/a", "g1") == "rss:https://e.com/a#g1"
    long = "https://e.com/?" + "q" * 400
    assert (
        build_source_ref(long, "g1") == build_source_ref(long, "g1") != build_source_ref(long, "g2")
    )
    assert len(build_source_ref(long, "g" * 400)) < 100
