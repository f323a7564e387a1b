"""Agents for tests: a model that answers from a script, with hooks before its answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from mainspring.app import build_application
from mainspring.contracts.action import Action
from mainspring.contracts.capability import Annotations, Capability, Effect
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelReply, ModelRequest, ToolCall
from mainspring.registry import build_registry
from mainspring.runs.worker import rescue
from mainspring.workspace.artifacts.rows import list_artifacts, read_content
from tests.kit.bench import Bench, document, step
from tests.kit.lost_worker import Dead
from tests.kit.model_doubles import FakeModels

# A shape that is easy to miss.
NUMBER: dict[str, Any] = {
    "type": "object",
    "required": ["n"],
    "additionalProperties": False,
    "properties": {"n": {"type": "integer"}},
}
FINAL = "final_answer"
# A worker that gives no sign of life after its first and is not waited for.
ALONE: dict[str, Any] = {"heartbeat_seconds": 60.0, "lease_seconds": 60.0, "stop_seconds": 0.05}


def calls(*wanted: tuple[str, Any], text: str = "", **more: Any) -> ModelReply:
    """A turn that asks for tools; a hundred tokens in, fifty out."""
    made = tuple(ToolCall(f"c{place}", name, given) for place, (name, given) in enumerate(wanted))
    return ModelReply(text, "outside-1", 100, 50, calls=made, provider="outside", **more)


def ends(number: Any = 1) -> ModelReply:
    """The turn that ends a conversation of the usual shape."""
    return calls((FINAL, {"n": number}))


def says(text: str, **more: Any) -> ModelReply:
    return calls(text=text, **more)


def thinking(*tools: Any, name: str = "a test", execution: Any = None, **config: Any) -> Any:
    """A definition that is one agent; its shape is a number unless it says otherwise."""
    given = {"prompt": "Do it.", "tools": list(tools), "output_schema": NUMBER, **config}
    shown = {key: value for key, value in given.items() if value is not None}
    more = {} if execution is None else {"execution": execution}
    return document(step("think", "agent_task", shown, max_retries=0), name=name, **more)


@dataclass(slots=True)
class ScriptedModels(FakeModels):
    """The same models; something may happen while one of their answers is under way."""

    before_answer: dict[int, Callable[[], Awaitable[None]]] = field(default_factory=dict)

    async def complete(self, request: ModelRequest, *, key: str) -> ModelReply:
        moment = self.before_answer.pop(len(self.requests) + 1, None)
        reply = await FakeModels.complete(self, request, key=key)
        if moment is not None:
            await moment()
        return reply

    @property
    def tool_results(self) -> list[str]:
        """The tool results in the last request, in order."""
        return [one.content for message in self.requests[-1].messages for one in message.results]


def capability(
    name: str,
    handler: Any,
    *,
    effect: Effect = Effect.READ,
    takes: Mapping[str, Any] | None = None,
    **annotations: Any,
) -> Capability:
    """A capability of a test's own, which takes anything unless it says otherwise."""
    return Capability(
        name,
        name,
        takes or {"type": "object"},
        {"type": "object"},
        handler,
        annotations=Annotations(effect=effect, **annotations),
    )


@asynccontextmanager
async def agents_bench(
    bench: Bench,
    models: FakeModels | None,
    *words: Capability | Action,
    limits: Limits | None = None,
) -> AsyncIterator[Bench]:
    """The bench with these models, and with these capabilities in addition to the usual ones."""
    capabilities = [one for one in words if isinstance(one, Capability)]
    bounds, script_runner = limits or Limits(), bench.application.script_runner
    registry = build_registry(
        bounds,
        settings=bench.application.settings,
        script_runner=script_runner,
        vault=bench.application.vault,
        capabilities=(*bench.outside.capabilities(), *capabilities),
        actions=[one for one in words if isinstance(one, Action)],
    )
    application = build_application(
        bench.application.settings,
        bounds,
        registry,
        bench.application.database,
        script_runner,
        models,
    )
    try:
        yield Bench(application, bench.outside)
    finally:
        await application.gate.aclose()
        await application.wakeup_sender.aclose()
        await application.mcp_clients.aclose()
        await application.egress.aclose()


@dataclass(slots=True)
class Loss:
    """A worker that loses its runs at a moment, once, and takes none of them back."""

    bench: Bench
    happened: asyncio.Event = field(default_factory=asyncio.Event)
    hook: Dead = field(default_factory=Dead)

    async def happen(self) -> None:
        if self.happened.is_set() or self.hook.dead:
            return
        self.hook.dead = True
        database = self.bench.application.database
        running = "SELECT count(*) FROM runs WHERE status = 'running'"
        async with asyncio.timeout(60):
            # One whose row is being written at this moment is passed over, and found next time.
            while await database.fetchval(running):
                held = "UPDATE workers SET lease_until = now() - interval '1 second'"
                await database.execute(held)
                await rescue(database, self.bench.application.limits)
        self.happened.set()

    async def until(self, bench: Bench, plan: Mapping[str, Any]) -> UUID:
        """Works on a run until the loss has happened."""
        made = await bench.dispatch(plan)
        async with bench.worker(hook=self.hook, **ALONE), asyncio.timeout(60):
            await self.happened.wait()
        return made.run_id


async def ledger(bench: Bench) -> tuple[int, str]:
    """How many asks of models are on the books, and what they cost."""
    row = await bench.application.database.fetchrow(
        "SELECT count(*) AS asks, coalesce(sum(cost_usd), 0) AS usd FROM llm_usage"
    )
    assert row is not None
    return row["asks"], str(row["usd"].normalize())


async def pieces(bench: Bench, run_id: UUID) -> list[dict[str, Any]]:
    """What watchers were sent about the agents of a run."""
    rows = await bench.application.database.fetch(
        "SELECT text FROM run_output WHERE run_id = $1 AND stream = 'agent' ORDER BY seq", run_id
    )
    return [json.loads(row["text"]) for row in rows]


async def transcripts(bench: Bench, run_id: UUID) -> list[dict[str, Any]]:
    """The transcripts that were kept of a run."""
    space = bench.application.workspace_id
    async with bench.application.database.acquire() as connection:
        found = await list_artifacts(connection, space, run_id=run_id)
    return [json.loads(await read_content(bench.application.blobs, one)) for one in found]
