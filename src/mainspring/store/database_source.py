"""Where the database is: an outside server, or the embedded one, owned or visited.

A process that may attach becomes a guest when another one owns the data folder, and the
owner when that one has gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from mainspring.contracts.errors import Problem
from mainspring.store.data_folder import is_in_use, read_owner
from mainspring.store.database_errors import UNAVAILABLE, database_unavailable_error
from mainspring.store.embedded import EmbeddedServer, build_dsn, is_answering

if TYPE_CHECKING:
    from mainspring.settings import Settings


# Where an outside database is, for whoever starts a command that cannot open it.

_POSTGRES: Final = 5432
_OF_A_PLACE: Final = (UNAVAILABLE, "database_sign_in", "database_missing")
_LOOK: Final = "Look at MAINSPRING_DATABASE_URL, and whether that server is running."


def add_database_location(problem: Problem, settings: Settings) -> Problem:
    """The same problem with the database's place in it, if somebody has named that place."""
    url = settings.database_url
    if url is None or problem.code not in _OF_A_PLACE or _is_own(url, settings):
        return problem
    where = describe_database_location(url)
    return type(problem)(
        problem.detail if where is None else f"{problem.detail} That is {where}.",
        code=problem.code,
        suggestion=_LOOK if problem.code == UNAVAILABLE else problem.suggestion,
        retry_after=problem.retry_after,
    )


def _is_own(url: str, settings: Settings) -> bool:
    """``up`` hands its parts the address of the embedded server, which is nobody's setting."""
    owner = read_owner(settings.home)
    return owner is not None and url == build_dsn(owner.socket)


def describe_database_location(url: str) -> str | None:
    """Name, host and port of a database; None where a password might be taken for one of them."""
    try:
        parts = urlsplit(url)
        host, port = _split_host_port(parts)
    except ValueError:
        return None
    # A / ? or # in a password that is not escaped ends the host too early: what is left of the
    # password then looks like a path, and the @ that follows it gives it away.
    if "@" in parts.path + parts.query + parts.fragment:
        return None
    name = unquote(parts.path.lstrip("/"))
    told = [repr(name)] if name else []
    if host:
        told.append(f"{host}:{port}")
    return " at ".join(told) or None


def _split_host_port(parts: SplitResult) -> tuple[str | None, str]:
    asked = parse_qs(parts.query)
    host = parts.hostname or asked.get("host", [None])[0]
    port = parts.port or asked.get("port", [_POSTGRES])[0]
    # An address of IPv6 has colons of its own.
    return f"[{host}]" if host and ":" in host else host, str(port)


_GUEST_SECONDS = 60.0
_GUEST_POLL_SECONDS = 0.05
_WATCH_SECONDS = 0.25
_WATCH_PAUSE_AFTER_TROUBLE = 5.0

log = logging.getLogger(__name__)


class DatabaseSource(Protocol):
    """Knows the address and what can be done when nobody answers there."""

    @property
    def dsn(self) -> str: ...

    # How long a new connection may keep trying before the caller is told.
    @property
    def patience(self) -> float: ...

    async def open(self) -> None: ...

    async def heal(self) -> None:
        """Called when a connection could not be made."""
        ...

    async def close(self) -> None: ...


class ExternalDatabaseSource:
    """Somebody else's server: it comes back when it comes back."""

    patience = 0.0

    def __init__(self, url: str) -> None:
        self.dsn = url

    async def open(self) -> None: ...

    async def heal(self) -> None: ...

    async def close(self) -> None: ...


class EmbeddedDatabaseSource:
    """Our own server; its owner starts it again whenever it is found dead."""

    patience = 30.0

    def __init__(self, home: Path, *, attach: bool) -> None:
        self._home = home.absolute()
        self._attach = attach
        self._server = EmbeddedServer(home)
        self._visited: str | None = None
        self._one_at_a_time = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def dsn(self) -> str:
        return self._visited or self._server.dsn

    @property
    def server(self) -> EmbeddedServer | None:
        """The server this process owns; a guest has none."""
        return self._server if self._server.owns else None

    async def open(self) -> None:
        await self.heal()
        self._watch = asyncio.create_task(self._keep_alive(), name="embedded-database-watch")

    async def heal(self) -> None:
        async with self._one_at_a_time:
            if self._closed:
                # Somebody still asks after the end; the server must not rise again for it.
                raise database_unavailable_error()
            if self._server.alive():
                return
            if self._attach:
                await self._own_or_visit()
            else:
                await self._server.start_async()

    async def close(self) -> None:
        self._closed = True
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        async with self._one_at_a_time:
            if self._server.owns:
                await self._server.stop_async()

    async def _own_or_visit(self) -> None:
        deadline = time.monotonic() + _GUEST_SECONDS
        while True:
            try:
                await self._server.start_async()
            except Problem as problem:
                if not is_in_use(problem):
                    raise
            else:
                self._visited = None
                return
            owner = read_owner(self._home)
            if owner is not None and await is_answering(owner.socket):
                self._visited = build_dsn(owner.socket)
                return
            if time.monotonic() > deadline:
                raise database_unavailable_error()
            await asyncio.sleep(_GUEST_POLL_SECONDS)

    async def _keep_alive(self) -> None:
        """An owner that is idle must notice too: guests depend on its server."""
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            if not self._server.owns or self._server.alive():
                continue
            log.warning("The embedded database ended unexpectedly and is started again.")
            with contextlib.suppress(Problem):
                await self.heal()
                continue
            await asyncio.sleep(_WATCH_PAUSE_AFTER_TROUBLE)
