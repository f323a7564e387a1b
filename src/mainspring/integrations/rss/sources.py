"""On-demand source: the entries of a feed as pages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.addresses import URL_SCHEMA, get_hosts, normalize_address
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.integration import MOST_FETCHED, Item, ItemBatch, Source
from mainspring.contracts.partial_results import read_one
from mainspring.integrations.rss.client import fetch_feed
from mainspring.integrations.rss.feed import parse_entries

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

_LONGEST_REF: Final = 400
_ADDRESS: Final = re.compile(r"https?://[^\s<>\"']+", re.IGNORECASE)
INPUT_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["url"],
    "properties": {
        "url": URL_SCHEMA,
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_FETCHED,
            "default": MOST_FETCHED,
        },
    },
    "examples": [{"url": "https://example.com/news.xml", "limit": 20}],
    "x-mainspring-anti-examples": [
        {"value": {"limit": 5}, "reason": "of which feed?"},
        {"value": {"url": "https://example.com/a.xml", "limit": 0}, "reason": "at least one"},
    ],
}


async def read(
    ctx: CallContext, given: Mapping[str, Any], cursor: Mapping[str, Any] | None
) -> ItemBatch:
    """Read all current entries; a feed has one page."""
    del cursor
    url = normalize_address(str(given["url"]))
    body, kind = await fetch_feed(ctx, url)
    entries = await parse_entries(body, kind)
    most = int(given.get("limit", MOST_FETCHED))
    note = None
    if len(entries) > most:
        note = f"The feed has {len(entries)} entries; the first {most} were read."
    items = [
        read_one(build_source_ref(url, f"unreadable:{n}"), partial(_item, url, entry))
        for n, entry in enumerate(entries[:most])
    ]
    return ItemBatch(items, note=note)


def parse_request(request: str, now: datetime) -> dict[str, Any]:
    """Parse the URL from a sentence."""
    del now
    found = _ADDRESS.search(request)
    if found is None:
        detail = "A feed is named by its address, and there is none in this request."
        way = 'Give input, such as {"url": "https://example.com/news.xml"}.'
        finding = Finding("/request", detail, "no_address", way)
        raise Invalid(detail, code="no_address", findings=[finding])
    return {"url": found[0].rstrip(".,;:!?)")}


def build_source_ref(url: str, entry_id: str) -> str:
    """Build a stable reference; a URL and an id may be longer than the column allows."""
    ref = f"rss:{url}#{entry_id}"
    if len(ref) <= _LONGEST_REF:
        return ref
    return f"rss:{hashlib.sha256(ref.encode('utf-8', 'replace')).hexdigest()}"


def _item(url: str, entry: Mapping[str, Any]) -> Item:
    kept = {
        "url": entry["url"],
        "published": entry["published"] or "",
        "author": entry["author"],
        "feed": url,
        "tags": entry["tags"],
    }
    return Item(
        source_ref=build_source_ref(url, entry["id"]),
        type="rss_entry",
        title=entry["title"],
        body=entry["summary"],
        frontmatter=kept,
    )


SOURCE: Final = Source(
    name="rss",
    input_schema=INPUT_SCHEMA,
    read=read,
    from_request=parse_request,
    most=MOST_FETCHED,
    hosts=get_hosts,
)
