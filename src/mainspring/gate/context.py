"""What the gate hands to a capability's handler."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

from mainspring.contracts.agency import Agency
from mainspring.contracts.clock import Clock
from mainspring.contracts.context import Actor, Http, Mailer, RunRef, Transaction
from mainspring.contracts.errors import Fault
from mainspring.contracts.model import ModelReply, ModelRequest

# Performs a draft, once, and answers what came of it.
Confirm = Callable[[UUID], Coroutine[Any, Any, Any]]


@dataclass(slots=True)
class GateContext:
    """One call's view of the world; it ends with the call."""

    actor: Actor
    run: RunRef | None
    clock: Clock
    key: str
    http: Http
    mail: Mailer
    owner_address: Callable[[], Coroutine[Any, Any, str | None]]
    # The model to ask when a call names none; empty: the workspace's usual one.
    model: str
    ask_model: Callable[[ModelRequest], Coroutine[Any, Any, ModelReply]]
    transaction: Transaction | None = None
    # No handler but that of ``confirm_action`` is given it.
    confirm: Confirm | None = None
    # No handler but that of ``agent.run`` is given it.
    agency: Agency | None = None
    spent: Decimal = field(default=Decimal(0))

    @property
    def tx(self) -> Transaction:
        if self.transaction is None:
            raise Fault("This capability is not declared transactional.")
        return self.transaction

    async def complete(self, request: ModelRequest) -> ModelReply:
        return await self.ask_model(request)

    def spend(self, usd: Decimal) -> None:
        if not usd.is_finite() or usd < 0:
            raise Fault("A call cannot cost less than nothing.", retryable=False)
        self.spent += usd
