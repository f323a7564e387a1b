"""act_on_integration: one write to an integration, by an exact action or in words.

Either way it becomes exact first, is judged by the action's own words, and is then held: a
person sees what would leave before anything does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import Annotations, Capability, Effect, Write
from mainspring.contracts.errors import Conflict
from mainspring.gate.acting.resolving import resolver
from mainspring.gate.acting.schemas import ARGUMENTS_BYTES, OUTPUT, acting_input
from mainspring.gate.installs import InstalledIntegrations

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.store.database import Database

_NO_DRAFT: Final = "00000000-0000-0000-0000-000000000000"
_SOME_TIME: Final = "2026-08-01T10:00:00+00:00"


def act_on_integration(
    installs: InstalledIntegrations, database: Database | None = None
) -> Capability:
    """The capability over what is installed here."""

    def stub(arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "kind": "suppressed",
            "draft_id": _NO_DRAFT,
            "preview": installs.preview(arguments),
            "payload": dict(arguments),
            "expires_at": _SOME_TIME,
        }

    return Capability(
        id="act_on_integration",
        description="Act on an integration\n\n"
        "Prepares a write to an outside system and answers a draft; nothing leaves before a "
        "person has seen it. Give install_id, action_name and input, or source and a request in "
        "words, which is read as one such action or asked back. Show the preview to the person. "
        f"Installed here: {installs.listed()}.",
        input_schema=acting_input(installs.sources),
        output_schema=OUTPUT,
        handler=_perform,
        write=Write(
            preview=installs.preview,
            performs=installs.performs,
            envelope=installs.envelope,
            resolve=resolver(installs, database),
            granted_as=installs.grant_arguments,
        ),
        annotations=Annotations(
            effect=Effect.SEND,
            seconds=1.0,
            judge=installs.findings,
            stub=stub,
            connected={"source": "act"},
            arguments_bytes=ARGUMENTS_BYTES,
        ),
    )


async def _perform(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """No policy lets it go by itself: what was confirmed is the action's own to do."""
    del ctx, arguments
    raise Conflict(
        "What is prepared for an integration is sent by confirming its draft.",
        code="cannot_confirm",
    )
