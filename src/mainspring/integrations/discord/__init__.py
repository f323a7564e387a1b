"""Discord: messages in server channels, read and posted by a bot.

The API host is fixed when the integration is built; no step can change it, so the bot token is sent
to that host only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources

from mainspring.contracts.context import CallContext
from mainspring.contracts.integration import Integration
from mainspring.contracts.manifest import apply_sign_in_addresses, resolve_base_address
from mainspring.integrations.discord.capabilities import build_post_capability
from mainspring.integrations.discord.client import Discord
from mainspring.integrations.discord.events import EVENTS
from mainspring.integrations.discord.sources import build_poll, build_source


def integration(addresses: Mapping[str, str]) -> Integration:
    """Build the integration."""
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    discord = Discord(*resolve_base_address(addresses, "discord", "https://discord.com/api/v10"))

    async def account(ctx: CallContext) -> str:
        return await discord.get_identity(ctx.http)

    return Integration(
        manifest={
            **apply_sign_in_addresses(json.loads(manifest), addresses),
            "hosts": sorted(discord.hosts),
        },
        capabilities=(build_post_capability(discord),),
        events=EVENTS,
        sources=(build_source(discord),),
        polls=(build_poll(discord),),
        account=account,
    )
