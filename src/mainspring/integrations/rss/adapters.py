"""Board adapter: a feed URL is the resource, and its entries are rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.addresses import URL_SCHEMA, get_hosts, normalize_address_ref
from mainspring.contracts.integration import Adapter, Operation
from mainspring.integrations.rss.client import fetch_feed
from mainspring.integrations.rss.feed import MOST_ENTRIES, parse_entries

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

LIMIT: Final[dict[str, Any]] = {
    "description": "The newest so many, in the feed's own order.",
    "type": "integer",
    "minimum": 1,
    "maximum": MOST_ENTRIES,
}
REF_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["url"],
    "properties": {"url": {**URL_SCHEMA, "title": "Address"}},
    "examples": [{"url": "https://example.com/news.xml"}],
    "x-mainspring-anti-examples": [{"value": {"feed": "news"}, "reason": "by its address"}],
}
PARAMS_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"limit": LIMIT},
    "examples": [{}, {"limit": 20}],
    "x-mainspring-anti-examples": [{"value": {"limit": 0}, "reason": "at least one"}],
}
COLUMNS: Final[Mapping[str, str]] = {
    "id": "text",
    "title": "text",
    "url": "url",
    "published": "datetime",
    "updated": "datetime",
    "author": "text",
    "summary": "text",
    "tags": "json",
}


async def list_entries(
    ctx: CallContext, ref: Mapping[str, Any], params: Mapping[str, Any]
) -> Sequence[Mapping[str, Any]]:
    """List the feed's current entries."""
    body, kind = await fetch_feed(ctx, str(ref["url"]))
    return (await parse_entries(body, kind))[: int(params.get("limit", MOST_ENTRIES))]


ADAPTER: Final = Adapter(
    kind="rss",
    description="A feed: RSS 2.0, RSS 1.0 or Atom.",
    ref_schema=REF_SCHEMA,
    operations=(
        Operation(
            id="rss.list_entries",
            description="The entries of the feed.",
            params_schema=PARAMS_SCHEMA,
            rows=list_entries,
            columns=COLUMNS,
            label="Entries",
        ),
    ),
    label="Feed (RSS, Atom)",
    normal=normalize_address_ref,
    hosts=get_hosts,
    connection="none",
)
