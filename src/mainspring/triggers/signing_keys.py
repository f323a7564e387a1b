"""The keys that signed calls are judged by, kept for a few seconds.

A busy webhook would otherwise open the vault for every call; calls that come together open it
once. What is kept is the key in
memory, never in a log; a secret that was replaced counts after those seconds.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final

from mainspring.contracts.errors import Problem
from mainspring.store.database import is_lost_connection
from mainspring.triggers.webhook_signature import read_secret
from mainspring.workspace.vault import SecretScope, Vault

SECONDS: Final = 5.0
_MOST: Final = 1_000

Name = tuple[SecretScope, str]

_logger = logging.getLogger(__name__)


class SigningKeyCache:
    """Keys by owner and name of the secret; None where there is no usable one."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._kept: dict[Name, tuple[bytes | None, float]] = {}
        self._opening: dict[Name, asyncio.Task[bytes | None]] = {}

    async def read(self, name: Name, *, of_leaver: bool = False) -> bytes | None:
        """The key of this secret; that of an owner who left only shows who called."""
        kept = self._kept.get(name)
        if kept is not None and time.monotonic() < kept[1]:
            return kept[0]
        opening = self._opening.get(name)
        if opening is None:
            opening = self._opening[name] = asyncio.create_task(self._keep(name, of_leaver))
        # Whoever waits may be cancelled; the others still want the key.
        return await asyncio.shield(opening)

    async def _keep(self, name: Name, of_leaver: bool) -> bytes | None:
        try:
            key = await self._opened(name, of_leaver)
        finally:
            del self._opening[name]
        if len(self._kept) >= _MOST:
            self._kept.clear()
        self._kept[name] = (key, time.monotonic() + SECONDS)
        return key

    async def _opened(self, name: Name, of_leaver: bool) -> bytes | None:
        drawer, secret = name
        take = self._vault.reveal if of_leaver else self._vault.lend
        try:
            key = read_secret((await take(drawer, [secret]))[secret])
        except Problem as problem:
            if is_lost_connection(problem):
                raise
            _logger.warning("Signed calls are refused: %s", problem.detail)
            return None
        if key is None:
            _logger.warning("Signed calls are refused: the secret %s is not base64.", secret)
        return key
