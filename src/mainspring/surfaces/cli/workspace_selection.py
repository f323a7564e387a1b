"""Where a command works, and as whom: the workspace that is set, as this folder's owner.

Most commands act as the local owner, whatever token is set; they say so rather than letting
somebody believe that a smaller token binds them. What runs a server works for all workspaces.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from mainspring.surfaces.cli.context import BY_TOKEN, UNUSED_TOKEN
from mainspring.surfaces.cli.factory import ApplicationFactory
from mainspring.surfaces.cli.screen import is_terminal

if TYPE_CHECKING:
    from uuid import UUID

    from mainspring.contracts.errors import Invalid
    from mainspring.settings import Settings
    from mainspring.surfaces.services import ApplicationServices

_SERVERS: Final = frozenset({"up", "api", "scheduler", "worker", "doctor", "token"})
# The object of a command line with --json in it.
FOR_PROGRAMS: Final = "for programs"


def select_workspace(
    factory: ApplicationFactory,
    command: str | None,
    *,
    for_programs: bool = False,
    server: str | None = None,
) -> ApplicationFactory:
    """The doors as one command goes through them.

    The local owner is a person only at a terminal, and not where ``--json`` or a token is given.
    """
    if server is not None:
        return replace(factory, open=_nowhere)
    if command in _SERVERS:
        return factory

    @asynccontextmanager
    async def enter(settings: Settings) -> AsyncIterator[ApplicationServices]:
        from mainspring.contracts.errors import ConsentRequired, PersonRequired
        from mainspring.surfaces.cli.server_presence import server_address

        if settings.url is not None:
            raise not_at_a_server_error()
        async with factory.open(settings) as services:
            if settings.token is not None and command not in BY_TOKEN:
                sys.stderr.write(f"{UNUSED_TOKEN}\n")
            wanted = settings.workspace
            by_program = for_programs or settings.token is not None or not is_terminal()
            inside = replace(
                services,
                by_program=by_program,
                workspace_id=services.workspace_id
                if wanted is None
                else await workspace_called(services, wanted),
            )
            try:
                yield inside
            except (ConsentRequired, PersonRequired) as problem:
                problem.locate(server_address(services.settings))
                raise

    return replace(factory, open=enter)


def _nowhere(settings: Settings) -> AbstractAsyncContextManager[ApplicationServices]:
    """Refuses --server."""
    del settings
    raise not_at_a_server_error()


def not_at_a_server_error() -> Invalid:
    """A command that works on this machine's data folder, asked to act at a server."""
    from mainspring.contracts.errors import Invalid

    return Invalid(
        "This command works on the data folder of this machine, not at a server.",
        code="usage",
        suggestion="Leave out --server and MAINSPRING_URL, or use the pages or the API of that "
        "server.",
    )


async def workspace_called(services: ApplicationServices, wanted: str) -> UUID:
    """The workspace with this id or name, among those that the local owner owns."""
    from mainspring.contracts.errors import Invalid, NotFound
    from mainspring.contracts.roles import Role
    from mainspring.workspace.automations import FIRST_MEMBER
    from mainspring.workspace.people.workspaces import list_user_workspaces

    own = await list_user_workspaces(services.database, FIRST_MEMBER)
    named = wanted.strip().casefold()
    found: list[UUID] = [
        row["id"]
        for row in own
        if row["role"] == Role.OWNER and named in (str(row["id"]), row["name"].casefold())
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFound(
            f"MAINSPRING_WORKSPACE names no workspace that the local owner owns: {wanted[:60]!r}.",
            code="no_workspace",
            suggestion="Unset it; `workspaces list` shows which there are.",
        )
    raise Invalid(
        f"{len(found)} workspaces are called {wanted[:60]!r}.",
        code="usage",
        suggestion=f"Set MAINSPRING_WORKSPACE to an id: {', '.join(map(str, found))}.",
    )
