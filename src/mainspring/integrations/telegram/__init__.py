"""Telegram: a word to the owner's own chat, over the Bot API.

Where the API is reached is said once, when the integration is built; no step can change
it, so a bot token goes to that host and to no other.
"""

from __future__ import annotations

import json
from importlib import resources

from mainspring.contracts.integration import Integration
from mainspring.integrations.telegram.capabilities import telegram_push
from mainspring.integrations.telegram.client import Telegram


def integration(base_url: str) -> Integration:
    """Everything this folder adds to an installation whose Telegram is at this address."""
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    telegram = Telegram(base_url)
    return Integration(
        manifest={**json.loads(manifest), "hosts": sorted(telegram.hosts)},
        capabilities=(telegram_push(telegram),),
    )
