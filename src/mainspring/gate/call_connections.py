"""What one call has opened: its way out, and the connections that it goes over.

Whatever is opened here is hidden and told of alike. A connection that is refused is marked, and
the problem that the call ends with names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from mainspring.connections.accounts.http import ConnectedHttp
from mainspring.connections.accounts.problems import complete_reconnect_error, not_connected_error
from mainspring.connections.call_context import ConnectionAccess
from mainspring.contracts.errors import InternalError, Problem, ReconnectRequired, UpstreamError
from mainspring.gate.draft_binding import draft_changed_error
from mainspring.outbound.egress import CallHttp

if TYPE_CHECKING:
    from mainspring.connections.accounts.account_connections import AccountConnections
    from mainspring.contracts.capability import ConnectionRoute
    from mainspring.contracts.context import Account, HttpClient
    from mainspring.gate.capability_call import CapabilityCall
    from mainspring.outbound.egress import Egress
    from mainspring.workspace.vault import Vault


def connection_binding(account: Account | None) -> dict[str, Any] | None:
    """What a draft is bound to of the connection that it goes over; None where there is none."""
    if account is None:
        return None
    result: dict[str, Any] = {
        "connection_id": str(account.connection_id),
        "account": account.account,
    }
    chat = account.settings.get("chat_id")
    return result if chat is None else {**result, "chat": chat}


class CallConnections:
    """The ways out of one call."""

    def __init__(
        self, ask: CapabilityCall, egress: Egress, vault: Vault, lines: AccountConnections | None
    ) -> None:
        self._ask = ask
        self._egress = egress
        # It knows nothing of this visit: each call would leave a circle for the collector.
        self._reveal = partial(_reveal_secrets, vault, ask)
        self._lines = lines
        self._plain: list[CallHttp] = []
        self._connected: list[ConnectedHttp] = []

    async def open(self, route: ConnectionRoute) -> ConnectionAccess:
        """The way that the call is given, over the connection that its route leads over."""
        way = await self.connect(route)
        self._check_agreed(way, route)
        return way

    def _check_agreed(self, way: ConnectionAccess, route: ConnectionRoute) -> None:
        """What somebody has agreed to leaves over the connection that they were shown."""
        agreed = self._ask.agreed
        if (
            agreed is None
            or self._lines is None
            or agreed.connection == connection_binding(way.account)
        ):
            return
        if way.account is None:
            # Another way may be open, and it is not the one that was shown.
            own = self._ask.secret_scope.owner_id == self._ask.actor.id
            raise not_connected_error(self._lines.named(route.integration), own=own)
        raise draft_changed_error()

    async def connect(self, route: ConnectionRoute) -> ConnectionAccess:
        """Opens the connection that a route leads over, for the rest of this call."""
        if self._lines is None:
            if route.connection != "needed":
                return ConnectionAccess(self.bind(route.hosts), None)
            raise InternalError("This gate has no connections.", retryable=False)
        whose = self._ask.secret_scope
        owner = route.owner_id or whose.owner_id
        opened = await self._lines.open(
            whose.workspace_id,
            owner,
            route,
            own=self._reveal,
            learn=self._ask.known.learn,
            called_by_owner=self._ask.run is None and owner == self._ask.actor.id,
        )
        if opened is None:
            return ConnectionAccess(self.bind(route.hosts, self._lines.egress), None)
        self._connected.append(opened)
        return ConnectionAccess(opened, opened.account)

    @property
    def uses(self) -> set[tuple[str, str]]:
        """The secrets that left the house, each with the host that got it."""
        return {use for way in self._ways for use in way.uses}

    def masked(self, value: Any) -> Any:
        """A JSON value in which no secret used by this call can be read."""
        for way in self._ways:
            value = way.masked(value)
        return value

    @property
    def _ways(self) -> list[CallHttp | ConnectedHttp]:
        return [*self._plain, *self._connected]

    async def ended(self, problem: BaseException | None) -> Problem | None:
        """Says of each connection how it fared; the problem with its connection named."""
        named: Problem | None = None
        for way in self._connected:
            if way.ended is not None:
                await self._mark(way, way.ended, reconnect=True)
            elif isinstance(problem, ReconnectRequired) and self._is_about(way, problem):
                named = complete_reconnect_error(problem, way.integration, way.row)
                await self._mark(way, named, reconnect=True)
            elif isinstance(way.last, UpstreamError):
                await self._mark(way, way.last)
            elif isinstance(problem, UpstreamError) and way is self._connected[-1]:
                # It was answered, and the integration could not use the answer.
                await self._mark(way, problem)
            elif problem is None:
                await self._mark(way, None)
        return named

    def _is_about(self, way: ConnectedHttp, problem: ReconnectRequired) -> bool:
        """An integration tells of the connection it used; the last one that was opened."""
        said_here = any(other.ended is problem for other in self._connected)
        return not said_here and way is self._connected[-1]

    async def _mark(
        self, way: ConnectedHttp, problem: Problem | None, *, reconnect: bool = False
    ) -> None:
        assert self._lines is not None
        await self._lines.mark(way.row, problem, reconnect=reconnect)

    def bind(self, hosts: frozenset[str] | None, egress: Egress | None = None) -> HttpClient:
        """A way out over no connection, to these hosts alone."""
        way = (egress or self._egress).bound(hosts, self._reveal)
        self._plain.append(way)
        return way


async def _reveal_secrets(
    vault: Vault, ask: CapabilityCall, names: frozenset[str]
) -> Mapping[str, str]:
    values = await vault.lend(ask.secret_scope, names)
    ask.known.learn(values)
    return values
