"""What waits for a person, as capabilities: list it, confirm it, discard it.

Confirming is for people and for clients with a person's own token. A run may do it in one case
only, which is judged where the draft is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from mainspring.contracts.capability import Annotations, Audience, Capability, Effect
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Fault
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.roles import Permission
from mainspring.gate.context import GateContext
from mainspring.gate.draft_schemas import (
    CONFIRM_INPUT,
    CONFIRM_OUTPUT,
    DISCARD_INPUT,
    DISCARD_OUTPUT,
    LIST_INPUT,
    LIST_OUTPUT,
    USUAL,
)
from mainspring.gate.drafts import discard, drafts_of
from mainspring.gate.sending import CONFIRM_ACTION


def draft_capabilities(known: Mapping[str, Capability]) -> tuple[Capability, ...]:
    """Everything that answers drafts of these capabilities."""
    return (_confirm(), _discard(), _list(known))


def _confirm() -> Capability:
    return Capability(
        id=CONFIRM_ACTION,
        description="Confirm a draft\n\n"
        "Sends exactly what the draft shows, once. Asked again, it answers what came of it and "
        "sends nothing. Failed with outcome unknown: it may have left all the same, so look at "
        "the other side first. For people, after they have seen the preview. A run may confirm "
        "its own drafts of safe writes under auto_confirm_safe, and nothing else.",
        input_schema=CONFIRM_INPUT,
        output_schema=CONFIRM_OUTPUT,
        handler=_confirmed,
        annotations=Annotations(
            effect=Effect.SEND, seconds=2.0, permission=Permission.DECIDE, stub=_pretended
        ),
    )


async def _confirmed(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
    if not isinstance(ctx, GateContext) or ctx.confirm is None:
        raise Fault("Only the gate can send a draft.", retryable=False)
    return await ctx.confirm(UUID(arguments["draft_id"]))


def _pretended(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A trial holds nothing, so there is nothing to send either."""
    return {
        "draft_id": arguments["draft_id"],
        "status": "confirmed",
        "outcome": "not_sent",
        "action": CONFIRM_ACTION,
        "result": None,
    }


def _discard() -> Capability:
    return Capability(
        id="discard_action",
        description="Discard a draft\n\n"
        "Nothing is sent, and it cannot be confirmed any more. Discarding it again changes "
        "nothing.",
        input_schema=DISCARD_INPUT,
        output_schema=DISCARD_OUTPUT,
        handler=_discarded,
        annotations=Annotations(
            effect=Effect.KEEP, transactional=True, seconds=0.1, audience=Audience.PEOPLE,
            permission=Permission.DECIDE,
        ),
    )  # fmt: skip


async def _discarded(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
    draft_id = UUID(arguments["draft_id"])
    news = await discard(ctx.tx, ctx.actor, draft_id, arguments.get("reason"))
    answer = {"ok": True, "draft_id": str(draft_id), "status": "discarded"}
    return answer if news else Unchanged(answer)


def _list(known: Mapping[str, Capability]) -> Capability:
    async def listed(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        most = arguments.get("limit", USUAL)
        after = arguments.get("after")
        rows = await drafts_of(
            ctx.tx, ctx.actor.workspace_id, known, status=arguments.get("status", "pending"),
            after=None if after is None else UUID(after), most=most + 1,
        )  # fmt: skip
        page = rows[:most]
        return {
            "actions": [_entry(row) for row in page],
            "next": str(page[-1]["id"]) if len(rows) > most else None,
        }

    return Capability(
        id="list_pending_actions",
        description="List what waits for a person\n\n"
        "The newest first, as drafts: what would happen, with which arguments, and until when. "
        "Nothing is sent by looking. Left out, status is pending; expired ones are listed under "
        "expired.",
        input_schema=LIST_INPUT,
        output_schema=LIST_OUTPUT,
        handler=listed,
        annotations=Annotations(
            effect=Effect.READ, transactional=True, seconds=0.1, audience=Audience.PEOPLE
        ),
    )


def _entry(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "draft_id": str(row["id"]),
        "status": row["status"],
        "outcome": row["outcome"],
        "action": row["capability"],
        "preview": row["preview"],
        "payload": row["arguments"],
        "automation_id": _text(row["automation_id"]),
        "run_id": _text(row["run_id"]),
        "created_at": row["created_at"].isoformat(),
        "expires_at": row["expires_at"].isoformat(),
    }


def _text(value: UUID | None) -> str | None:
    return None if value is None else str(value)
