"""Capabilities made for tests: they behave as badly, as slowly or as dearly as asked."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from mainspring.contracts.capability import Annotations, Capability, Effect, Write
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Invalid, UpstreamError

ANYTHING: dict[str, Any] = {"type": "object"}


@dataclass(slots=True)
class Outside:
    """The world as these capabilities see it: what was done to it, and how it answers."""

    keys: Counter[str] = field(default_factory=Counter)
    tries: Counter[str] = field(default_factory=Counter)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    stopped: list[str] = field(default_factory=list)
    order: list[str] = field(default_factory=list)

    def capabilities(self) -> tuple[Capability, ...]:
        return (
            _capability("test.echo", self.echo),
            _capability("test.note", self.note, effect=Effect.SEND),
            _capability("test.flaky", self.flaky),
            _capability("test.hang", self.hang),
            _capability("test.costly", self.costly),
            _capability("test.mail", self.note, effect=Effect.SEND, write=_MAIL),
            _capability("test.nudge", self.note, effect=Effect.SEND, write=_NUDGE),
            _capability("test.wrong_shape", self.wrong_shape, output={"type": "array"}),
        )

    async def echo(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        self.tries[ctx.key] += 1
        return dict(arguments)

    async def note(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        """An outside write: the receiver keeps the key, and how often it came."""
        self.keys[ctx.key] += 1
        self.order.append(str(arguments.get("mark", "")))
        return {"noted": True}

    async def flaky(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        """Fails a number of times, then works."""
        self.tries[ctx.key] += 1
        if self.tries[ctx.key] <= arguments["failures"]:
            if arguments.get("permanent"):
                raise Invalid("This can never work.", code="never")
            raise UpstreamError("Not now.", code="busy", retry_after=arguments.get("retry_after"))
        return {"tries": self.tries[ctx.key]}

    async def hang(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        """Goes on until it is let go, and says when it was stopped instead."""
        self.tries[ctx.key] += 1
        self.started.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.stopped.append(ctx.key)
            raise
        return {"released": True}

    async def costly(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        self.tries[ctx.key] += 1
        ctx.spend(Decimal(str(arguments["usd"])))
        return {"usd": arguments["usd"]}

    async def wrong_shape(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        return {"not": "a list"}


_MAIL = Write(preview=lambda arguments: f"Send {arguments.get('mark')}.", editable=("mark",))
_NUDGE = Write(preview=lambda arguments: "Nudge the owner.", safe=True)


def _capability(
    name: str,
    handler: Any,
    *,
    effect: Effect = Effect.READ,
    write: Write | None = None,
    output: Mapping[str, Any] = ANYTHING,
) -> Capability:
    return Capability(name, name, ANYTHING, output, handler, write, Annotations(effect=effect))
