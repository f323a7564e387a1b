"""HTTP client for published feeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mainspring.contracts.addresses import read_address

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

_ACCEPT: Final = (
    "application/atom+xml, application/rss+xml, application/rdf+xml;q=0.9, "
    "application/xml;q=0.8, text/xml;q=0.8, */*;q=0.1"
)


async def fetch_feed(ctx: CallContext, url: str) -> tuple[bytes, str]:
    """Fetch a feed's bytes and content type."""
    response = await read_address(ctx, url, _ACCEPT)
    return response.body, response.headers.get("content-type", "")
