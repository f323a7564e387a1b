"""Capabilities with a price, and a step that hands out its run's token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from mainspring.app import build_application
from mainspring.contracts.action import Action
from mainspring.contracts.capability import Annotations, Audience, Capability, Effect
from mainspring.contracts.context import CallContext, StepContext
from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.registry import build_registry
from tests.kit.bench import Bench

ANYTHING: dict[str, Any] = {"type": "object"}
SAMPLE: dict[str, Any] = {"type": "object", "examples": [{"id": "sample"}]}


@dataclass(slots=True)
class Market:
    """Things that cost: what was really spent, and how many were at it together."""

    spent: Decimal = Decimal(0)
    most: int = 0
    at_work: int = 0
    seconds: float = 0.0
    notes: list[Mapping[str, Any]] = field(default_factory=list)
    # What ``test.leak`` and ``test.tell`` give away.
    leak: str = ""

    def capabilities(self) -> tuple[Capability, ...]:
        def priced(arguments: Mapping[str, Any]) -> Decimal:
            return Decimal(str(arguments["most"]))

        paid = Annotations(price=priced)
        stored = Annotations(effect=Effect.KEEP, transactional=True, price=priced)
        quiet = Annotations(effect=Effect.KEEP, stub=lambda given: {"id": given.get("mark")})
        people = Annotations(audience=Audience.PEOPLE)
        return (
            Capability("test.priced", "Cost", ANYTHING, ANYTHING, self._buy, annotations=paid),
            Capability(
                "test.priced_keep", "Cost", ANYTHING, ANYTHING, self._buy, annotations=stored
            ),
            Capability(
                "test.keep",
                "Keep",
                ANYTHING,
                SAMPLE,
                self._keep,
                annotations=Annotations(effect=Effect.KEEP),
            ),
            Capability("test.stubbed", "Keep", ANYTHING, SAMPLE, self._keep, annotations=quiet),
            Capability("test.leak", "Leak", ANYTHING, ANYTHING, self._leak),
            Capability("test.people", "Ask", ANYTHING, ANYTHING, self._keep, annotations=people),
        )

    async def _buy(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        try:
            await asyncio.sleep(self.seconds)
            usd = Decimal(str(arguments.get("usd", arguments["most"])))
            self.spent += usd
            ctx.spend(usd)
            if arguments.get("fail"):
                raise UpstreamError("It broke after it was paid.", retryable=False)
            return {"usd": str(usd)}
        finally:
            self.at_work -= 1

    async def _leak(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        if arguments.get("fail"):
            raise UpstreamError(f"It says {self.leak}.", suggestion=self.leak, retryable=False)
        return {"text": self.leak, self.leak: 1}

    def tell(self) -> Action:
        async def handler(ctx: StepContext, config: Mapping[str, Any]) -> Any:
            return {"told": f"<{self.leak}>"}

        return Action("test.tell", "Give away", ANYTHING, None, handler)

    async def _keep(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        self.notes.append(dict(arguments))
        return {"id": "real"}


@dataclass(slots=True)
class TokenStep:
    """A step that asks for its token, hands it out, and waits."""

    tokens: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    release: asyncio.Event = field(default_factory=asyncio.Event)

    def action(self) -> Action:
        return Action(
            "test.hand", "Hand out the token", ANYTHING, None, self._hold, uses=_uses, seconds=0.1
        )

    async def _hold(self, ctx: StepContext, config: Mapping[str, Any]) -> Any:
        first, second = (await ctx.start()).token, (await ctx.start()).token
        self.tokens.put_nowait(first)
        await self.release.wait()
        return {"same": first == second}


def _uses(config: Mapping[str, Any]) -> tuple[Grant, ...]:
    return tuple(Grant(one["capability"], one.get("params", {})) for one in config["grants"])


@asynccontextmanager
async def gate_bench(
    bench: Bench,
    market: Market,
    hand: TokenStep | None = None,
    *,
    limits: Limits | None = None,
    **settings: Any,
) -> AsyncIterator[Bench]:
    """The bench with these words added; more settings may be given."""
    given = replace(bench.application.settings, **settings)
    registry = build_registry(
        limits or Limits(),
        settings=given,
        actions=(market.tell(), *((hand.action(),) if hand else ())),
        capabilities=(*bench.outside.capabilities(), *market.capabilities()),
    )
    application = build_application(given, limits or Limits(), registry, bench.application.database)
    try:
        yield Bench(application, bench.outside)
    finally:
        await application.gate.aclose()
        await application.wakeup_sender.aclose()
        await application.egress.aclose()
