"""Google Calendar: events of all calendars as pages, and writes.

The API host is fixed when the integration is built; the connection's token is sent to that host
only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING

from mainspring.contracts.integration import Integration
from mainspring.contracts.manifest import apply_sign_in_addresses
from mainspring.integrations.calendar.capabilities import (
    create_event,
    delete_event,
    update_event,
)
from mainspring.integrations.calendar.client import Calendar
from mainspring.integrations.calendar.events import EVENTS
from mainspring.integrations.calendar.push import build_push_source
from mainspring.integrations.calendar.sources import build_changes_poll, build_events_source

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


def integration(addresses: Mapping[str, str]) -> Integration:
    """Build the integration."""
    text = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    calendar = Calendar(addresses)

    async def account(ctx: CallContext) -> str:
        return await calendar.account(ctx.http)

    return Integration(
        manifest={
            **apply_sign_in_addresses(json.loads(text), addresses),
            "hosts": sorted(calendar.hosts),
        },
        push=build_push_source(calendar),
        capabilities=(create_event(calendar), update_event(calendar), delete_event(calendar)),
        events=EVENTS,
        sources=(build_events_source(calendar),),
        polls=(build_changes_poll(calendar),),
        account=account,
    )
