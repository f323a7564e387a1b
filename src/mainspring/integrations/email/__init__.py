"""E-mail: sending and reading without server details.

It sends through the mailer and reads through the mailbox of the call context, so it knows no
server, user or password. The SMTP server is the operator's; a mailbox is a member's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources

from mainspring.contracts.context import CallContext
from mainspring.contracts.integration import Integration
from mainspring.integrations.email.capabilities import SEND_EMAIL
from mainspring.integrations.email.events import EVENTS
from mainspring.integrations.email.notify_owner import NOTIFY_OWNER
from mainspring.integrations.email.offers import SEND
from mainspring.integrations.email.sources import build_poll, build_source


def integration(addresses: Mapping[str, str]) -> Integration:
    """Build the integration."""
    del addresses
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    return Integration(
        manifest=json.loads(manifest),
        capabilities=(SEND_EMAIL, NOTIFY_OWNER),
        events=EVENTS,
        offers=(SEND,),
        sources=(build_source(),),
        polls=(build_poll(),),
        account=_account,
    )


async def _account(ctx: CallContext) -> str:
    """Return the mailbox's user after a successful login."""
    async with ctx.mailbox():
        return str(ctx.account.settings.get("user", "")) if ctx.account is not None else ""
