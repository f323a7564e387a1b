"""Telegram: a personal bot for notifications, messages and approvals.

The API host is fixed when the integration is built; no step can change it, so a bot token is sent
to that host only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from mainspring.contracts.context import CallContext
from mainspring.contracts.integration import Integration, Prompter, PromptMessage
from mainspring.integrations.telegram.capabilities import build_push_capability
from mainspring.integrations.telegram.chat import build_chat_channel
from mainspring.integrations.telegram.client import Telegram, fits, get_linked_chat
from mainspring.integrations.telegram.events import EVENTS
from mainspring.integrations.telegram.polls import build_updates_poll


def integration(addresses: Mapping[str, str]) -> Integration:
    """Build the integration."""
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    telegram = Telegram(addresses.get("telegram", "https://api.telegram.org"))
    return Integration(
        manifest={**json.loads(manifest), "hosts": sorted(telegram.hosts)},
        capabilities=(build_push_capability(telegram),),
        events=EVENTS,
        polls=(build_updates_poll(telegram),),
        prompter=_prompter(telegram),
        chat=build_chat_channel(telegram),
        account=telegram.account,
    )


def _prompter(telegram: Telegram) -> Prompter:
    async def send(ctx: CallContext, message: PromptMessage) -> Mapping[str, Any]:
        chat = get_linked_chat({} if ctx.account is None else ctx.account.settings)
        text = f"{message.text}\n\n{message.link}"
        number = await telegram.send_prompt(ctx, chat, text, message.buttons)
        return {"chat_id": chat, "message_id": number}

    async def close(ctx: CallContext, place: Mapping[str, Any], text: str) -> None:
        await telegram.edit_message(ctx, place["chat_id"], place["message_id"], text)

    return Prompter(send, close, fits)
