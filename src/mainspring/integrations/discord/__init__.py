"""Discord: messages in the channels of servers, read and posted by a bot.

Where the API is reached is said once, when the integration is built; no step can change it, so
the bot's token goes to that host and to no other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources

from mainspring.contracts.context import CallContext
from mainspring.contracts.integration import Integration
from mainspring.contracts.manifest import base_of, moved
from mainspring.integrations.discord.capabilities import discord_post
from mainspring.integrations.discord.client import Discord
from mainspring.integrations.discord.events import EVENTS
from mainspring.integrations.discord.sources import discord_poll, discord_source


def integration(addresses: Mapping[str, str]) -> Integration:
    """Everything this folder adds to an installation whose Discord is at its address."""
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    discord = Discord(*base_of(addresses, "discord", "https://discord.com/api/v10"))

    async def account(ctx: CallContext) -> str:
        return await discord.who(ctx.http)

    return Integration(
        manifest={**moved(json.loads(manifest), addresses), "hosts": sorted(discord.hosts)},
        capabilities=(discord_post(discord),),
        events=EVENTS,
        sources=(discord_source(discord),),
        polls=(discord_poll(discord),),
        account=account,
    )
