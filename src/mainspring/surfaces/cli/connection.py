"""Which server a command talks to: a named one, the local one, or this very process.

``--server`` or ``MAINSPRING_URL`` name a server. Otherwise the server that is up on the data
folder is asked, and where none is, the same application is opened in this process and is sent the
same requests. Only the last of these imports the application.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Coroutine, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mainspring.contracts.errors import PermissionDenied, Unauthenticated
from mainspring.surfaces.cli.context import BY_TOKEN, UNUSED_TOKEN
from mainspring.surfaces.cli.http_client import (
    ApiClient,
    ServerClient,
    ServerUnreachable,
    TooLargeToConfirm,
)
from mainspring.surfaces.cli.local_session import keep_local_session, read_local_session
from mainspring.surfaces.cli.running_server import find_own_server

if TYPE_CHECKING:
    from mainspring.settings import Settings
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.in_process import InProcessClient
    from mainspring.surfaces.services import ApplicationServices

Found = TypeVar("Found")
_NEEDS_LOOP: Final = "needs an event loop"


def finish_request(work: Coroutine[Any, Any, Found]) -> Found:
    """Runs a command that may end without an event loop, which takes a while to import.

    A command that only talks to a server over HTTP never suspends. One that opens the application
    says so by ``enter_event_loop`` before it does, and goes on in a loop from there.
    """
    try:
        asked = work.send(None)
    except StopIteration as done:
        found: Found = done.value
        return found
    assert asked == _NEEDS_LOOP
    from mainspring.surfaces.cli.context import finish

    return finish(work)


@coroutine
def enter_event_loop() -> Generator[str, None, None]:
    """Returns once this runs in an event loop."""
    from asyncio import _get_running_loop

    if _get_running_loop() is None:
        yield _NEEDS_LOOP


@asynccontextmanager
async def open_client(context: CommandContext) -> AsyncIterator[ApiClient]:
    """The server that this command talks to, until the block ends."""
    named = find_named_server(context)
    if named is not None:
        async with named:
            yield named
        return
    async with AsyncExitStack() as stack:
        yield LazyInProcessClient(context, stack)


def find_named_server(context: CommandContext) -> ServerClient | None:
    """The server of ``--server`` or ``MAINSPRING_URL``; None where neither is given.

    A token goes to the server of ``MAINSPRING_URL``, which is set beside it. Elsewhere, and
    without a token, the session of ``login`` is used.
    """
    server, token = context.server, None
    if server is None:
        settings = context.server_settings()
        server, token = settings.url, settings.token
    if server is None:
        return None
    from mainspring.surfaces.cli.logins import find_login, read_address

    address = read_address(server)
    return ServerClient(address, token or find_login(address).session)


class LazyInProcessClient(ApiClient):
    """The server on the data folder; for whatever it does not answer, this process."""

    def __init__(self, context: CommandContext, stack: AsyncExitStack) -> None:
        self._context = context
        self._stack = stack
        self._settings = context.settings()
        self._http = _find_local_server(context, self._settings)
        if self._http is not None:
            stack.callback(self._http.close)
        self._opened: InProcessClient | None = None
        self.services: ApplicationServices | None = None
        self._has_answered = False

    @property
    def has_server(self) -> bool:
        return self._http is not None

    @property
    def address(self) -> str:
        return self._settings.address

    @property
    def by_token(self) -> bool:
        return self._context.acts_by_token(self._settings)

    @property
    def by_program(self) -> bool:
        return self._context.has_json or self._settings.token is not None

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        confirmed: bool = False,
        as_program: bool = False,
    ) -> Any:
        if self._http is not None:
            try:
                answer = await self._http.request(
                    method, path, body, query=query, confirmed=confirmed, as_program=as_program
                )
                self._note_token()
                return answer
            except (ServerUnreachable, TooLargeToConfirm):
                pass  # It starts or stops, or would not take this. Nothing was sent.
            except (Unauthenticated, PermissionDenied):
                if self._context.acts_by_token(self._settings):
                    raise
                # The session has ended, or is smaller than what the owner of the folder may do.
            self._http.close()
            self._http = None
        if self._opened is None:
            await self._open()
        assert self._opened is not None
        return await self._opened.request(method, path, body, query=query, as_program=as_program)

    def _note_token(self) -> None:
        """Says once that a token is set and not used."""
        is_unused = self._settings.token and not self._context.acts_by_token(self._settings)
        if is_unused and not self._has_answered:
            sys.stderr.write(f"{UNUSED_TOKEN}\n")
        self._has_answered = True

    async def _open(self) -> None:
        await enter_event_loop()
        from mainspring.surfaces.cli.in_process import InProcessClient

        services = await self._stack.enter_async_context(self._context.doors.open(self._settings))
        self.services = services
        self._opened = InProcessClient(services, by_token=self._context.command in BY_TOKEN)
        if _is_default_owner(self._context, self._settings) and find_own_server(
            self._settings.home
        ):
            await keep_local_session(services)


def has_server(client: ApiClient) -> bool:
    """Whether a server is asked first, and not the application in this process."""
    return not isinstance(client, LazyInProcessClient) or client.has_server


def get_opened_services(client: ApiClient) -> ApplicationServices | None:
    """The application in this process, if it answers; None: a server does."""
    if isinstance(client, LazyInProcessClient):
        return client.services
    return None


def _find_local_server(context: CommandContext, settings: Settings) -> ServerClient | None:
    """The server on the data folder, if it can be asked as the owner or by the token."""
    server = find_own_server(settings.home)
    if server is None or not server.local_address or settings.workspace is not None:
        return None
    if context.acts_by_token(settings):
        credential = settings.token
    else:
        credential = read_local_session(settings.home)
    if credential is None:
        return None
    return ServerClient(
        server.local_address,
        credential,
        is_person=context.is_person(settings),
        # As long as it takes: so it was when the command did the work itself.
        seconds=None,
        public_address=settings.address,
    )


def _is_default_owner(context: CommandContext, settings: Settings) -> bool:
    return settings.workspace is None and not context.acts_by_token(settings)
