"""One GET of a published calendar; some are announced as webcal, which is https."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mainspring.contracts.addresses import read_address

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


async def fetch_calendar(ctx: CallContext, ref: Mapping[str, Any]) -> bytes:
    """The text of a calendar as it is published now."""
    response = await read_address(ctx, str(ref["url"]), "text/calendar, */*;q=0.5")
    return response.body
