"""Notification channels: Google reports changes of files in Drive."""

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
from mainspring.integrations.drive.client import NAME, Drive


def build_push_source(drive: Drive) -> PushSource:
    """Build the registration of channels."""

    async def register(
        ctx: CallContext, config: Mapping[str, Any], target: PushTarget
    ) -> PushRegistration:
        del config
        channel = build_channel(target, ctx.clock.now())
        return read_channel(await drive.watch(ctx.http, channel), NAME)

    async def remove(
        ctx: CallContext,
        config: Mapping[str, Any],
        remote: Mapping[str, Any] | None,
        target: PushTarget,
    ) -> None:
        del config, target
        # Without its resource id a channel cannot be stopped; it expires.
        if remote is not None:
            await drive.stop(ctx.http, remote)

    return PushSource("file_added", register, remove, is_channel_genuine, is_channel_change)
