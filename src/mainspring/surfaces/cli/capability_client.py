"""Where a command calls capabilities: in this process, or at a server where somebody signed in.

``--server`` chooses the server. Either way a call agrees to something only after a person has
answered the command's question on a terminal.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from mainspring.contracts.errors import PermissionDenied
from mainspring.surfaces.cli.caller import local_caller
from mainspring.surfaces.cli.connection import find_named_server
from mainspring.surfaces.cli.server_presence import server_address
from mainspring.surfaces.cli.terminal_prompt import Ask, at_terminal

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ServerClient
    from mainspring.surfaces.cli.screen import Screen
    from mainspring.surfaces.services import ApplicationServices


INBOX: Final = "/inbox"


class CapabilityClient(Protocol):
    """Who a command acts as, and where."""

    @property
    def address(self) -> str:
        """Where its pages are."""
        ...

    @property
    def by_token(self) -> bool:
        """Whether a token acts, which shows what it may by itself."""
        ...

    @property
    def by_program(self) -> bool:
        """Whether no person is there, whatever the terminal looks like."""
        ...

    async def call(
        self, capability: str, arguments: Mapping[str, Any], *, confirmed: bool = False
    ) -> dict[str, Any]:
        """One call; ``confirmed``: a person was asked about just this one and said yes."""
        ...


@dataclass(frozen=True, slots=True)
class LocalClient:
    """The data folder of this machine, as its owner or as the holder of a token."""

    rooms: ApplicationServices

    @property
    def address(self) -> str:
        return server_address(self.rooms.settings)

    @property
    def by_token(self) -> bool:
        return self.rooms.settings.token is not None

    @property
    def by_program(self) -> bool:
        return self.rooms.by_program

    async def call(
        self, capability: str, arguments: Mapping[str, Any], *, confirmed: bool = False
    ) -> dict[str, Any]:
        del confirmed  # The owner of the data folder at a terminal is a person.
        caller = await local_caller(self.rooms, approves=True)
        answer: dict[str, Any] = await self.rooms.gate.serve(caller, capability, dict(arguments))
        return answer


@dataclass(frozen=True, slots=True)
class RemoteClient:
    """A server elsewhere, under the session of ``mainspring login``."""

    remote: ServerClient

    @property
    def address(self) -> str:
        return self.remote.address

    @property
    def by_token(self) -> bool:
        return not self.remote.has_session

    @property
    def by_program(self) -> bool:
        return not self.remote.has_session

    async def call(
        self, capability: str, arguments: Mapping[str, Any], *, confirmed: bool = False
    ) -> dict[str, Any]:
        return await self.remote.call(capability, arguments, confirmed=confirmed)


@asynccontextmanager
async def acting(context: CommandContext) -> AsyncIterator[CapabilityClient]:
    """Where this command acts, until the block ends."""
    named = find_named_server(context)
    if named is None:
        async with context.doors.open(context.settings()) as services:
            yield LocalClient(services)
        return
    async with named as remote:
        yield RemoteClient(remote)


def check_person_asked(
    where: CapabilityClient, screen: Screen, ask: Ask | None, detail: str, page: str = INBOX
) -> None:
    """Refuses a program, and says on which page a person can do this."""
    if where.by_program or not (ask is not None or at_terminal(screen)):
        raise PermissionDenied(
            detail,
            code="person_needed",
            suggestion=f"A person answers at {where.address}{page}, or with the same command at a "
            "terminal, without --json and MAINSPRING_TOKEN.",
        )
