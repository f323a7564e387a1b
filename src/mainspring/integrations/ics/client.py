"""HTTP client for published calendars; webcal means https."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mainspring.contracts.addresses import read_address

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


async def fetch_calendar(ctx: CallContext, ref: Mapping[str, Any]) -> bytes:
    """Fetch a calendar's text."""
    response = await read_address(ctx, str(ref["url"]), "text/calendar, */*;q=0.5")
    return response.body
