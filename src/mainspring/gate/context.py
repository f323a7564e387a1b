"""What the gate hands to a capability's handler."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from mainspring.contracts.clock import Clock
from mainspring.contracts.context import Actor, Http, Mailer, RunRef, Transaction
from mainspring.contracts.errors import Fault


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
    transaction: Transaction | None = None
    spent: Decimal = field(default=Decimal(0))

    @property
    def tx(self) -> Transaction:
        if self.transaction is None:
            raise Fault("This capability is not declared transactional.")
        return self.transaction

    def spend(self, usd: Decimal) -> None:
        if not usd.is_finite() or usd < 0:
            raise Fault("A call cannot cost less than nothing.", retryable=False)
        self.spent += usd
