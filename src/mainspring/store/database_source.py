"""Where the database is: an external server, or the embedded one, owned or attached to.

A process that may attach becomes a guest when another one owns the data folder, and the owner when
that process has ended.
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


# The location of an external database, for error messages of commands that cannot open it.

_POSTGRES: Final = 5432
_OF_A_PLACE: Final = (UNAVAILABLE, "database_sign_in", "database_missing")
_LOOK: Final = "Check MAINSPRING_DATABASE_URL, and whether that server is running."


def add_database_location(problem: Problem, settings: Settings) -> Problem:
    """The problem with the location of the database added, if it is configured."""
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
    """``up`` passes the DSN of the embedded server to its child processes, which is not a user
    setting.
    """
    owner = read_owner(settings.home)
    return owner is not None and url == build_dsn(owner.socket)


def describe_database_location(url: str) -> str | None:
    """Name, host and port of a database; None where part of a password could appear in them."""
    try:
        parts = urlsplit(url)
        host, port = _split_host_port(parts)
    except ValueError:
        return None
    # An unescaped / ? or # in a password ends the host too early: the rest of the password then
    # looks like a path, and the @ after it reveals that.
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
    # An IPv6 address contains colons.
    return f"[{host}]" if host and ":" in host else host, str(port)


_GUEST_SECONDS = 60.0
_GUEST_POLL_SECONDS = 0.05
_WATCH_SECONDS = 0.25
_WATCH_PAUSE_AFTER_TROUBLE = 5.0

log = logging.getLogger(__name__)


class DatabaseSource(Protocol):
    """Knows the DSN and how to recover when nothing answers there."""

    @property
    def dsn(self) -> str: ...

    # How long a new connection is retried before an error is raised.
    @property
    def patience(self) -> float: ...

    async def open(self) -> None: ...

    async def heal(self) -> None:
        """Called when a connection could not be made."""
        ...

    async def close(self) -> None: ...


class ExternalDatabaseSource:
    """An external server: wait until it is available again."""

    patience = 0.0

    def __init__(self, url: str) -> None:
        self.dsn = url

    async def open(self) -> None: ...

    async def heal(self) -> None: ...

    async def close(self) -> None: ...


class EmbeddedDatabaseSource:
    """The embedded server; its owner restarts it whenever it is found dead."""

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
        """The server that this process owns; None for a guest."""
        return self._server if self._server.owns else None

    async def open(self) -> None:
        await self.heal()
        self._watch = asyncio.create_task(self._keep_alive(), name="embedded-database-watch")

    async def heal(self) -> None:
        async with self._one_at_a_time:
            if self._closed:
                # A late query after shutdown must not restart the server.
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
        """An idle owner must also notice a dead server, because guests depend on it."""
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            if not self._server.owns or self._server.alive():
                continue
            log.warning("The embedded database stopped unexpectedly and is restarted.")
            with contextlib.suppress(Problem):
                await self.heal()
                continue
            await asyncio.sleep(_WATCH_PAUSE_AFTER_TROUBLE)
