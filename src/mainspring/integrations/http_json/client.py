"""One GET of an address that answers JSON; the only place that knows how that goes wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from mainspring.contracts.addresses import read_address, unreadable_response_error

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


async def fetch_json(ctx: CallContext, ref: Mapping[str, Any]) -> Any:
    """The value that stands at an address."""
    url = str(ref["url"])
    response = await read_address(ctx, url, "application/json", ref.get("headers"))
    try:
        return orjson.loads(response.body)
    except orjson.JSONDecodeError:
        raise unreadable_response_error(
            str(urlsplit(url).hostname), "answered something that is not JSON."
        ) from None
