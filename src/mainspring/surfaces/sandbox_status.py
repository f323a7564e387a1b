"""Which walls hold scripts on this machine: put up once and looked at, for whoever asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mainspring.actions.script.sandbox.isolation import Isolation


async def probe_sandbox() -> Isolation:
    """What holds, tried and not guessed; a ``Problem`` where no script can run at all."""
    from mainspring.actions.script.sandbox.pool import SandboxPool

    async with SandboxPool(warm=0, most=1) as sandboxes:
        return await sandboxes.read_isolation()
