"""Gmail: threads as pages, and sending mail.

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
from mainspring.integrations.gmail.capabilities import send_email, send_offer
from mainspring.integrations.gmail.client import Gmail
from mainspring.integrations.gmail.events import EVENTS
from mainspring.integrations.gmail.sources import build_arrivals_poll, build_threads_source

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


def integration(addresses: Mapping[str, str]) -> Integration:
    """Build the integration."""
    text = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    gmail = Gmail(addresses)

    async def account(ctx: CallContext) -> str:
        return (await gmail.profile(ctx.http))[0]

    return Integration(
        manifest={
            **apply_sign_in_addresses(json.loads(text), addresses),
            "hosts": sorted(gmail.hosts),
        },
        capabilities=(send_email(gmail),),
        events=EVENTS,
        offers=(send_offer(),),
        sources=(build_threads_source(gmail),),
        polls=(build_arrivals_poll(gmail),),
        account=account,
    )
