"""What the runs of the crash tests do: effects that leave a trace, and some bad habits."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mainspring.contracts.capability import (
    Annotations,
    Capability,
    CapabilityHandler,
    Effect,
    Write,
)
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Invalid
from tests.crash.side_effect_log import SideEffectLog

ANYTHING: dict[str, Any] = {"type": "object"}

# The value counts, so a second time shows as a 2 and a lost write as a missing row.
_KEEP = """
    INSERT INTO automation_kv AS kept (workspace_id, automation_id, key, value)
    VALUES ($1, $2, $3, '1')
    ON CONFLICT (workspace_id, automation_id, key)
    DO UPDATE SET value = to_jsonb((kept.value)::int + 1)
"""


@dataclass(frozen=True, slots=True)
class CrashCapabilities:
    """The capabilities of one process; only a worker's are ever called."""

    ledger: SideEffectLog
    # The span of milliseconds that one effect takes.
    least_ms: float = 2.0
    most_ms: float = 10.0

    def capabilities(self) -> tuple[Capability, ...]:
        return (
            _capability("ledger.apply", self.apply, effect=Effect.SEND),
            _capability("ledger.keep", self.keep, effect=Effect.KEEP, transactional=True),
            _capability("crash.rows", self.rows, transactional=True),
            _capability("crash.die", self.die),
            _capability("crash.freeze", self.freeze, effect=Effect.KEEP, transactional=True),
            _capability("crash.hang", self.hang, effect=Effect.SEND),
            _capability("crash.stumble", self.stumble),
            _held("ledger.post", self.post),
        )

    async def rows(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The source of polls: rows that the test has written."""
        found = await ctx.tx.fetch(
            "SELECT key, value FROM automation_kv WHERE workspace_id = $1 AND key LIKE 'row-%'"
            " ORDER BY key",
            ctx.actor.workspace_id,
        )
        return {"rows": [{"id": one["key"], "value": one["value"]} for one in found], **arguments}

    async def apply(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """An outside effect that takes a little while."""
        self.ledger.note(ctx.key, "begin")
        await asyncio.sleep(random.uniform(self.least_ms, self.most_ms) / 1000)
        self.ledger.note(ctx.key, "end")
        return {"applied": True, **arguments}

    async def post(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """A message that leaves once a person has agreed to it."""
        self.ledger.note(ctx.key, "begin")
        self.ledger.note(ctx.key, "end")
        return {"ts": "1503435956.000001", "said": arguments["text"]}

    async def keep(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """A write to our own tables, which has to happen exactly once."""
        self.ledger.note(ctx.key, "begin")
        await _count(ctx)
        return {"kept": True, **arguments}

    async def die(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Takes the whole process with it."""
        self.ledger.note(ctx.key, "begin")
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    async def freeze(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Stops the process in the middle of a transaction, the first time it is called."""
        self.ledger.note(ctx.key, "begin")
        await _count(ctx)
        frozen = self.ledger.path.with_name("frozen")
        if not frozen.exists():
            frozen.touch()
            os.kill(os.getpid(), signal.SIGSTOP)
        return {"thawed": True}

    async def hang(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Goes on until a file appears next to the ledger, which is how a test lets go."""
        self.ledger.note(ctx.key, "begin")
        gate = self.ledger.path.with_name(str(arguments["until"]))
        while not gate.exists():
            await asyncio.sleep(0.02)
        self.ledger.note(ctx.key, "end")
        return {"let_go": True}

    async def stumble(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Fails for good, in so many cases of a hundred."""
        self.ledger.note(ctx.key, "begin")
        if random.random() * 100 < arguments["percent"]:
            raise Invalid("This time it does not work.", code="stumbled")
        return {}


def _held(name: str, handler: CapabilityHandler) -> Capability:
    write = Write(preview=lambda given: f"Post: {given['text']}", editable=("text",))
    hints = Annotations(effect=Effect.SEND, seconds=0.01)
    return Capability(name, name, ANYTHING, ANYTHING, handler, write, hints)


async def _count(ctx: CallContext) -> None:
    assert ctx.run is not None
    await ctx.tx.execute(_KEEP, ctx.actor.workspace_id, ctx.run.automation_id, ctx.key)


def _capability(
    name: str,
    handler: CapabilityHandler,
    *,
    effect: Effect = Effect.READ,
    transactional: bool = False,
) -> Capability:
    hints = Annotations(effect=effect, transactional=transactional, seconds=0.01)
    return Capability(name, name, ANYTHING, ANYTHING, handler, annotations=hints)
