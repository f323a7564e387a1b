"""Google Drive: files as pages, later with their text, and creating files.

The API host is fixed when the integration is built; the connection's token is sent to that host
only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING

from mainspring.contracts.integration import Integration
from mainspring.contracts.manifest import apply_sign_in_addresses
from mainspring.integrations.drive.capabilities import create_file
from mainspring.integrations.drive.client import Drive
from mainspring.integrations.drive.events import EVENTS
from mainspring.integrations.drive.push import build_push_source
from mainspring.integrations.drive.sources import (
    build_files_poll,
    build_files_source,
    build_texts_poll,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


def integration(addresses: Mapping[str, str]) -> Integration:
    """Build the integration."""
    text = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    drive = Drive(addresses)

    async def account(ctx: CallContext) -> str:
        return await drive.account(ctx.http)

    return Integration(
        manifest={
            **apply_sign_in_addresses(json.loads(text), addresses),
            "hosts": sorted(drive.hosts),
        },
        capabilities=(create_file(drive),),
        push=build_push_source(drive),
        events=EVENTS,
        sources=(build_files_source(drive),),
        polls=(build_files_poll(drive), build_texts_poll(drive)),
        account=account,
    )
