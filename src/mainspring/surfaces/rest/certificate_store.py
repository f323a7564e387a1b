"""Where the ACME account, the certificate and the state of its renewal are kept.

One machine keeps them as files that only its user can read. Several machines with one name keep
them in the database, encrypted by the vault, and take turns to renew.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID

from mainspring.contracts.errors import NotFound
from mainspring.workspace.automations import FIRST_WORKSPACE
from mainspring.workspace.sealing import connection_scope

if TYPE_CHECKING:
    from mainspring.settings import Settings
    from mainspring.store.database import Database
    from mainspring.workspace.vault import Vault

FOLDER: Final = "certificates"
_SCOPE: Final = connection_scope(FIRST_WORKSPACE, UUID("00000000-0000-7000-8000-61636d650000"))
_LOCK: Final = "SELECT pg_try_advisory_lock(hashtextextended('acme renewal', 0))"
_UNLOCK: Final = "SELECT pg_advisory_unlock(hashtextextended('acme renewal', 0))"


class CertificateStore(Protocol):
    """Texts by name."""

    async def read(self, name: str) -> str | None: ...
    async def write(self, name: str, text: str) -> None: ...
    async def delete(self, name: str) -> None: ...

    def lock(self) -> AbstractAsyncContextManager[bool]:
        """Whether this process may renew now; another machine may be doing it."""
        ...


class CertificateFolder:
    """Files of mode 0600 in the data folder."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    async def read(self, name: str) -> str | None:
        return await asyncio.to_thread(self._read, name)

    async def write(self, name: str, text: str) -> None:
        await asyncio.to_thread(self._write, name, text)

    async def delete(self, name: str) -> None:
        await asyncio.to_thread((self._folder / name).unlink, missing_ok=True)

    @contextlib.asynccontextmanager
    async def lock(self) -> AsyncIterator[bool]:
        yield True

    def _read(self, name: str) -> str | None:
        try:
            return (self._folder / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def _write(self, name: str, text: str) -> None:
        """Replace a file at once: after a crash the old or the new one is complete."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self._folder / f"{name}.new"
        fresh.unlink(missing_ok=True)
        number = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._folder / name)


class CertificateVault:
    """Secrets of the installation in the vault."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._vault = vault

    async def read(self, name: str) -> str | None:
        try:
            return (await self._vault.reveal(_SCOPE, [name]))[name]
        except NotFound:
            return None

    async def write(self, name: str, text: str) -> None:
        await self._vault.set(_SCOPE, name, text)

    async def delete(self, name: str) -> None:
        await self._vault.delete(_SCOPE, name)

    @contextlib.asynccontextmanager
    async def lock(self) -> AsyncIterator[bool]:
        async with self._database.acquire() as connection:
            held: bool = await connection.fetchval(_LOCK)
            if not held:
                yield False
                return
            try:
                yield True
            finally:
                await connection.execute(_UNLOCK)


def open_store(settings: Settings, database: Database, vault: Vault) -> CertificateStore:
    """The store that the settings name."""
    if settings.acme_storage == "database":
        return CertificateVault(database, vault)
    return CertificateFolder(settings.home)
