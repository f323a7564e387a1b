"""Linking a chat: a code that its owner brings to the bot says which chat is theirs.

The code works once and for ten minutes. Only its hash is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
)
from mainspring.contracts.errors import Conflict
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.gate.prompting.link_codes import hashed, new_code
from mainspring.workspace.accounts.rows import (
    find_account_by_setting,
    find_member_account,
    store_settings,
)
from mainspring.workspace.secret_capabilities import check_sets_address

if TYPE_CHECKING:
    from uuid import UUID

    from mainspring.contracts.context import CallContext, Transaction

_TELEGRAM: Final = "telegram"
_CODE: Final = "link_hash"
_UNTIL: Final = "link_until"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def link_capability() -> Capability:
    """``link_telegram``: the address at which a person presses Start."""
    return build_capability(
        "link_telegram",
        "Link your Telegram chat",
        "Returns a URL: open it in Telegram and press Start; it works once, within ten minutes. "
        "Then the bot sends you messages and asks for decisions there.",
        _INPUT,
        _OUTPUT,
        _link_chat_handler,
        Annotations(
            toolset=Toolset.APPROVALS,
            effect=Effect.KEEP,
            transactional=True,
            seconds=0.1,
            audience=Audience.PEOPLE,
            permission=Permission.SECRET,
            hidden_results=frozenset({"url", "code"}),
            subject=lambda given, _: _TELEGRAM,
        ),
    )


async def _link_chat_handler(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    del arguments
    check_sets_address(ctx.actor, "Only a person can link their chat.")
    row = await find_member_account(ctx.tx, ctx.actor.workspace_id, ctx.actor.id, _TELEGRAM)
    if row is None or row.state != "ready":
        raise Conflict(
            "There is no bot to link a chat with.",
            code="not_connected",
            suggestion="Connect Telegram first: `mainspring integrations connect telegram`.",
        )
    code, until = new_code(ctx.clock.now())
    kept = {**row.settings, _CODE: hashed(code).hex(), _UNTIL: until.isoformat()}
    await store_settings(ctx.tx, row, kept)
    bot = row.account.removeprefix("@")
    return {
        "url": f"https://t.me/{bot}?start={code}",
        "code": code,
        "expires_at": until.isoformat(),
        "linked": "chat_id" in row.settings,
    }


async def link_chat(tx: Transaction, workspace_id: UUID, result: Mapping[str, Any]) -> bool:
    """Somebody brought a code to a bot; whether it was one that waits."""
    mark = hashed(str(result.get("code", ""))).hex()
    row = await find_account_by_setting(tx, workspace_id, _TELEGRAM, _CODE, mark)
    chat, user = result.get("chat_id"), result.get("user_id")
    if row is None or not isinstance(chat, int) or not isinstance(user, int):
        return False
    now: datetime = (await tx.fetchrow("SELECT now() AS now"))["now"]
    kept = {key: value for key, value in row.settings.items() if key not in (_CODE, _UNTIL)}
    in_time = now <= datetime.fromisoformat(str(row.settings.get(_UNTIL)))
    if in_time:
        kept |= {"chat_id": chat, "user_id": user}
    await store_settings(tx, row, kept)
    return in_time


_INPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "properties": {},
    "examples": [{}],
    "x-mainspring-anti-examples": [
        {"value": {"chat_id": 42}, "reason": "which chat it is, the person shows in that chat"}
    ],
}
_OUTPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "required": ["url", "code", "expires_at", "linked"],
    "properties": {
        "url": {"type": "string"},
        "code": {"type": "string"},
        "expires_at": {"type": "string", "format": "date-time"},
        "linked": {"type": "boolean", "description": "Whether a chat is linked already."},
    },
    "examples": [
        {
            "url": "https://t.me/adas_bot?start=abcdefghijklmnopqrstuvwx",
            "code": "abcdefghijklmnopqrstuvwx",
            "expires_at": "2026-12-01T10:00:00+00:00",
            "linked": False,
        }
    ],
    "x-mainspring-anti-examples": [
        {"value": {"url": "https://t.me/adas_bot"}, "reason": "until when is always told"}
    ],
}
