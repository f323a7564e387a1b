"""Lines: finds the connection that a call goes over, and opens it.

Whose it is has been decided before: that of the caller, of the automation's owner, or of the
member that the route names. Who has none of their own uses the one of the workspace. What is not
connected is said, and never answered with nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.connections.accounts.http import ConnectedHttp, Learn, TokenProvider
from mainspring.connections.accounts.member_access import MemberConnections, usable_for
from mainspring.connections.accounts.problems import (
    not_connected_error,
    reconnect_pending_error,
    unknown_integration_error,
)
from mainspring.connections.accounts.tokens import AccountTokenManager
from mainspring.contracts.errors import InternalError, Problem
from mainspring.contracts.manifest import get_source_name
from mainspring.outbound.egress import Egress
from mainspring.store.database import is_lost_connection
from mainspring.workspace.accounts import rows

if TYPE_CHECKING:
    from mainspring.contracts.capability import ConnectionRoute
    from mainspring.contracts.integration import Integration
    from mainspring.contracts.limits import Limits
    from mainspring.outbound.egress import Reveal
    from mainspring.store.database import Database
    from mainspring.workspace.accounts.rows import AccountRow

KnownTo = Callable[[UUID, UUID], Awaitable[MemberConnections]]


def build_integration_egress(limits: Limits, allow: Iterable[str]) -> Egress:
    """A way out with room for what integrations carry: files of a mail, pages of a calendar."""
    wide = replace(
        limits,
        http_request_bytes=limits.integration_request_bytes,
        http_response_bytes=limits.integration_response_bytes,
    )
    return Egress(wide, allow)


class AccountConnections:
    """Connections of all members, as calls use them."""

    def __init__(
        self,
        shelf: Sequence[Integration],
        database: Database,
        egress: Egress,
        tokens: AccountTokenManager,
        known_to: KnownTo,
    ) -> None:
        self.shelf: Mapping[str, Integration] = {
            **{get_source_name(one.manifest): one for one in shelf},
            **{one.id: one for one in shelf},
        }
        self._all = tuple(shelf)
        self._database = database
        self.egress = egress
        self.tokens = tokens
        self._known_to = known_to

    async def aclose(self) -> None:
        """Closes what is still open."""
        await self.egress.aclose()

    def named(self, name: str) -> Integration:
        """An integration by its id or its source."""
        found = self.shelf.get(name)
        if found is None:
            raise unknown_integration_error(name, self.shelf)
        return found

    async def sources_for(
        self, workspace_id: UUID, owner_id: UUID, surfaces: Collection[str]
    ) -> dict[str, list[str]]:
        """What a member can name now, by surface: fetch, act and adapter."""
        known = await self._known_to(workspace_id, owner_id)
        return {surface: usable_for(self._all, known, surface) for surface in surfaces}

    async def shut_out(
        self, workspace_id: UUID, owner_id: UUID, names: Iterable[str]
    ) -> Problem | None:
        """What keeps a member from using one of these, without anybody being asked outside."""
        for name in sorted(names):
            integration = self.shelf.get(name)
            if integration is None or _needs_none(integration):
                continue
            row = await rows.find_usable_account(
                self._database, workspace_id, owner_id, integration.id
            )
            if row is None or row.state == "sign_in":
                return not_connected_error(integration, own=False)
            if row.state == "reconnect":
                return reconnect_pending_error(integration, row)
        return None

    async def open(
        self,
        workspace_id: UUID,
        owner_id: UUID,
        route: ConnectionRoute,
        *,
        own: Reveal,
        learn: Learn,
        called_by_owner: bool,
        shared: bool = True,
    ) -> ConnectedHttp | None:
        """The connection that a route leads over; None where it goes without one.

        Unless ``shared``, only one that the member holds themselves.
        """
        integration = self.named(route.integration)
        if route.connection == "none":
            return None
        row = await rows.find_usable_account(
            self._database, workspace_id, owner_id, integration.id, shared=shared
        )
        if row is None or row.state == "sign_in":
            if route.connection == "used" or _needs_none(integration):
                return None
            raise not_connected_error(integration, own=called_by_owner)
        if row.state == "reconnect":
            raise reconnect_pending_error(integration, row)
        return self.over(integration, row, route.hosts, own=own, learn=learn)

    def over(
        self,
        integration: Integration,
        row: AccountRow,
        hosts: frozenset[str],
        *,
        own: Reveal,
        learn: Learn,
        tokens: TokenProvider | None = None,
    ) -> ConnectedHttp:
        """The way out over one connection, whatever state it is in."""
        return ConnectedHttp(
            integration, row, tokens or self.tokens, self.egress, hosts, own=own, learn=learn
        )

    async def mark(
        self,
        row: AccountRow,
        problem: Problem | None,
        *,
        reconnect: bool = False,
        mended: bool = False,
    ) -> None:
        """Health is told as well as it can be; failing to write it fails nothing else."""
        if isinstance(problem, InternalError) or (
            problem is not None and is_lost_connection(problem)
        ):
            return
        with contextlib.suppress(Problem):
            async with self._database.acquire() as writing:
                if problem is None:
                    await rows.mark_ok(writing, row, mended=mended)
                else:
                    await rows.mark_failed(writing, row, problem, reconnect=reconnect)


def _needs_none(integration: Integration) -> bool:
    return integration.manifest["auth"]["kind"] not in ("token", "oauth")
