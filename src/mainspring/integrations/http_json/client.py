"""HTTP client for a URL that returns JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from mainspring.contracts.addresses import read_address, unreadable_response_error

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


async def fetch_json(ctx: CallContext, ref: Mapping[str, Any]) -> Any:
    """Fetch and decode the JSON at a URL."""
    url = str(ref["url"])
    response = await read_address(ctx, url, "application/json", ref.get("headers"))
    try:
        return orjson.loads(response.body)
    except orjson.JSONDecodeError:
        raise unreadable_response_error(
            str(urlsplit(url).hostname), "answered something that is not JSON."
        ) from None
