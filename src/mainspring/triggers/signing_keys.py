"""The keys that signed calls are judged by, kept for a few seconds.

A busy webhook would otherwise open the vault for every call. What is kept is the key in
memory, never in a log; a secret that was replaced counts after those seconds.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Final
from uuid import UUID

from mainspring.contracts.errors import Problem
from mainspring.store.database import is_lost_connection
from mainspring.triggers.signature import read_secret
from mainspring.workspace.vault import Vault

SECONDS: Final = 5.0
_MOST: Final = 1_000

Name = tuple[UUID, str]

_logger = logging.getLogger(__name__)


class SigningKeys:
    """Keys by workspace and name of the secret; None where there is no usable one."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._kept: dict[Name, tuple[bytes | None, float]] = {}

    async def read(self, names: Iterable[Name]) -> dict[Name, bytes | None]:
        """The keys of these secrets."""
        return {name: await self._one(name) for name in set(names)}

    async def _one(self, name: Name) -> bytes | None:
        kept = self._kept.get(name)
        if kept is not None and time.monotonic() < kept[1]:
            return kept[0]
        key = await self._opened(name)
        if len(self._kept) >= _MOST:
            self._kept.clear()
        self._kept[name] = (key, time.monotonic() + SECONDS)
        return key

    async def _opened(self, name: Name) -> bytes | None:
        workspace_id, secret = name
        try:
            key = read_secret((await self._vault.reveal(workspace_id, [secret]))[secret])
        except Problem as problem:
            if is_lost_connection(problem):
                raise
            _logger.warning("Signed calls are refused: %s", problem.detail)
            return None
        if key is None:
            _logger.warning("Signed calls are refused: the secret %s is not base64.", secret)
        return key
