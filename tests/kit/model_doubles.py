"""Models outside, as a test wants them: they remember what they were asked and answer a script.

An entry of the script is an answer or something to raise, one for each ask; when there is none
left, every ask is answered in the same way.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any
from uuid import UUID

from mainspring.app import build_application
from mainspring.contracts.action import Action
from mainspring.contracts.context import StepContext
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import DEFAULT_MODEL, ModelReply, ModelRequest, Price
from mainspring.registry import build_registry
from tests.kit.bench import Bench

LLM = "automation_llm_complete"
# A dollar for a million tokens either way: a token is a millionth of a dollar.
PLAIN_PRICE = Price(Decimal(1), Decimal(1))


@dataclass(slots=True)
class FakeModels:
    """A provider that is somewhere else."""

    script: list[ModelReply | BaseException] = field(default_factory=list)
    prices: dict[str, Price] = field(default_factory=dict)
    reply: ModelReply = field(
        default_factory=lambda: ModelReply("Hello.", "outside-1", 100, 50, provider="outside")
    )
    # How long an answer takes; None: it never comes.
    seconds: float | None = 0.0
    usual: str = DEFAULT_MODEL
    any_there: bool = True
    # How many asks are under way at once before the first of them is answered.
    together: int = 1
    met: asyncio.Event = field(default_factory=asyncio.Event)
    # Whether it writes no more than its limit.
    obeys: bool = False
    requests: list[ModelRequest] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    answered: int = 0
    at_work: int = 0
    most: int = 0

    def price(self, model: str) -> Price | None:
        return {DEFAULT_MODEL: PLAIN_PRICE, "small": PLAIN_PRICE, **self.prices}.get(model)

    async def connected(self, workspace_id: UUID) -> bool:
        return self.any_there

    async def find(self, workspace_id: UUID, name: str) -> FakeModel:
        return FakeModel(name or self.usual, self)

    async def complete(self, request: ModelRequest, *, key: str) -> ModelReply:
        self.requests.append(request)
        self.keys.append(key)
        self.started.set()
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        if self.at_work >= self.together:
            self.met.set()
        try:
            await self.met.wait()
            if self.seconds is None:
                await asyncio.Event().wait()
            else:
                await asyncio.sleep(self.seconds)
        finally:
            self.at_work -= 1
        output = self.script.pop(0) if self.script else self.reply
        if isinstance(output, BaseException):
            raise output
        self.answered += 1
        if self.obeys:
            return replace(output, output_tokens=min(output.output_tokens, request.max_tokens))
        return output


@dataclass(frozen=True, slots=True)
class FakeModel:
    """One of them, by its name."""

    name: str
    outside: FakeModels

    @property
    def price(self) -> Price | None:
        return self.outside.price(self.name)

    async def complete(self, request: ModelRequest, *, key: str) -> ModelReply:
        return await self.outside.complete(request, key=key)


def asking(work: Any, name: str = "test.program", *, uses: Iterable[str] = (LLM,)) -> Action:
    """A step that is a program: it does this work with what a step is given."""

    async def handler(ctx: StepContext, config: Mapping[str, Any]) -> Any:
        return await work(ctx)

    granted = tuple(Grant(one) for one in uses)
    return Action(
        name,
        "Do some work",
        {"type": "object"},
        None,
        handler,
        uses=lambda config: granted,
        resumes=True,
        reports_usage=True,
    )


@asynccontextmanager
async def models_bench(
    bench: Bench,
    models: FakeModels | None,
    *actions: Action,
    limits: Limits | None = None,
    **settings: Any,
) -> AsyncIterator[Bench]:
    """The bench with these models connected, and with these actions."""
    given = replace(bench.application.settings, **settings)
    bounds = limits or Limits()
    registry = build_registry(
        bounds, settings=given, actions=actions, capabilities=bench.outside.capabilities()
    )
    application = build_application(
        given, bounds, registry, bench.application.database, models=models
    )
    try:
        yield Bench(application, bench.outside)
    finally:
        await application.gate.aclose()
        await application.wakeup_sender.aclose()
        await application.egress.aclose()
