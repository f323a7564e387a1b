"""``webhook test``: sends a signed sample, as the provider would."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import Invalid
from mainspring.definition.suggestions import suggest_nearest
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.in_process import InProcessClient
from mainspring.surfaces.cli.lookup import find_in_use_at
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.webhooks import find_webhook
from mainspring.triggers.webhook_receiver import WebhookReceipt
from mainspring.triggers.webhook_samples import send_sample
from mainspring.triggers.webhook_signatures import PROVIDERS, HandshakeReply

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext


async def send_webhook_sample(
    context: CommandContext,
    screen: Screen,
    text: str,
    slug: str | None,
    *,
    provider: str | None,
    event: str,
) -> int:
    """A request with a valid signature; its run is a real one."""
    if provider is not None and provider not in PROVIDERS:
        raise Invalid(
            f"There is no preset called {provider[:40]!r}.",
            code="unknown_provider",
            suggestion=suggest_nearest(provider, PROVIDERS),
        )
    async with context.doors.open(context.settings()) as services:
        client = InProcessClient(services, by_token=False)
        found = await find_in_use_at(client, text)
        slug = str((await find_webhook(client, found, slug))["slug"])
        try:
            made = await send_sample(
                services.webhook_receiver,
                services.limits,
                UUID(found["id"]),
                slug,
                url=f"{services.settings.address}/api/v1/automations/{found['id']}/hooks/{slug}",
                provider=None if provider is None else PROVIDERS[provider],
                event=event,
            )
        finally:
            await services.webhook_receiver.aclose()
    if isinstance(made, WebhookReceipt):
        if screen.for_programs:
            screen.answer({"run_id": made.run_id, "status": made.status, "reason": made.reason})
        elif made.problem is not None:
            screen.say(
                f"The signature is valid. The run {made.run_id} failed:", made.problem.detail
            )
        else:
            screen.say(f"The signature is valid. The run {made.run_id} is {made.status}.")
        return exits.DONE if made.problem is None else exits.FAILED
    shown = made.body if isinstance(made, HandshakeReply) else made
    if screen.for_programs:
        screen.answer({"run_id": None, "response": shown})
    else:
        screen.say("The signature is valid. This event starts no run.")
    return exits.DONE
