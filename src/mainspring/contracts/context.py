"""What a handler is given. It sees nothing of retries, grants, budgets or audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, Protocol
from uuid import UUID

from mainspring.contracts.clock import Clock
from mainspring.contracts.secret import SecretText


@dataclass(frozen=True, slots=True)
class Actor:
    """Whoever calls now: a member, a run, or a client with a token."""

    workspace_id: UUID
    kind: Literal["member", "run", "client"]
    id: UUID


@dataclass(frozen=True, slots=True)
class RunRef:
    """The run a call belongs to, and the place in it."""

    id: UUID
    automation_id: UUID
    step: str
    item: str = ""
    attempt: int = 1


class Transaction(Protocol):
    """The piece of a database connection that a handler may use.

    A row is read by column name; its values have the types of the columns.
    """

    async def execute(self, query: str, /, *args: Any) -> str: ...

    async def fetch(self, query: str, /, *args: Any) -> list[Any]: ...

    async def fetchrow(self, query: str, /, *args: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One outbound request. Secrets stand in it by name until it is sent."""

    method: str
    url: str | SecretText
    headers: Mapping[str, str | SecretText]
    query: Mapping[str, str | SecretText]
    body: bytes | None = None
    timeout_seconds: float = 30.0
    max_bytes: int = 1_048_576
    follow_redirects: bool = True


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """What came back, already bounded in size and time."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class Http(Protocol):
    """The only way out; the guard behind it checks the address that is dialled."""

    async def send(self, request: HttpRequest) -> HttpResponse: ...


class CallContext(Protocol):
    """Given to a capability's handler."""

    @property
    def actor(self) -> Actor: ...
    @property
    def run(self) -> RunRef | None: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def key(self) -> str:
        """run/step/item/call: the same over every attempt, so a receiver sees one effect."""
        ...

    @property
    def tx(self) -> Transaction:
        """The open transaction of a transactional capability; a Fault for any other."""
        ...

    @property
    def http(self) -> Http: ...

    def spend(self, usd: Decimal) -> None:
        """Says what the call cost; the gate settles it with the call's record."""
        ...


class StepContext(Protocol):
    """Given to an action's handler."""

    @property
    def actor(self) -> Actor: ...
    @property
    def run(self) -> RunRef: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def key(self) -> str: ...

    async def call(self, capability: str, arguments: Mapping[str, Any]) -> Any:
        """Calls a capability through the gate, as this run, with the run's grants."""
        ...

    async def walk(self, *, item: int, names: Mapping[str, Any]) -> Mapping[str, Any]:
        """Runs the step's nested steps for one item; answers their outputs by name."""
        ...
