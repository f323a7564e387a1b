"""Notification channels: Google reports changes of the primary calendar.

The trigger reads all calendars, so it polls at its interval as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.contracts.context import CallContext
from mainspring.contracts.google_channels import (
    build_channel,
    is_channel_change,
    is_channel_genuine,
    read_channel,
)
from mainspring.contracts.integration import PushRegistration, PushSource, PushTarget
from mainspring.integrations.calendar.client import NAME, Calendar


def build_push_source(calendar: Calendar) -> PushSource:
    """Build the registration of channels."""

    async def register(
        ctx: CallContext, config: Mapping[str, Any], target: PushTarget
    ) -> PushRegistration:
        del config
        channel = build_channel(target, ctx.clock.now())
        return read_channel(await calendar.watch(ctx.http, channel), NAME)

    async def remove(
        ctx: CallContext,
        config: Mapping[str, Any],
        remote: Mapping[str, Any] | None,
        target: PushTarget,
    ) -> None:
        del config, target
        # Without its resource id a channel cannot be stopped; it expires.
        if remote is not None:
            await calendar.stop(ctx.http, remote)

    return PushSource(
        "calendar_event",
        register,
        remove,
        is_channel_genuine,
        is_channel_change,
        can_push=_is_google,
        is_complete=False,
    )


def _is_google(config: Mapping[str, Any]) -> bool:
    return "url" not in config
