"""What the gate adds to a call: against the bare handler, in the same run.

A call by a step and a person's read touch no table before they answer. A capability that
writes is given a transaction under row-level security, and its record commits with
it; compared with an ordinary transaction of the same statement, and one with row-level security.
What is added is the median difference within a round. The rounds are many and short, because
a machine that is shared is quick in one moment and slow in the next.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from decimal import Decimal
from typing import Any

import uvloop

from bench.environment import NOOP, fresh_house
from mainspring.app import Application
from mainspring.contracts.capability import Annotations, Capability, Effect
from mainspring.contracts.context import Actor, CallContext, RunRef
from mainspring.contracts.grant import Grant
from mainspring.contracts.ids import generate_id
from mainspring.contracts.registry import Registry
from mainspring.contracts.roles import Role
from mainspring.gate.call import Gate
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.capability_call import CapabilityCall
from mainspring.gate.policy import RunPolicy
from mainspring.gate.run_budget import RunBudget
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.automations import FIRST_MEMBER

CALLS = 200
WRITES = 80
ROUNDS = 40
# Records of reads are written behind their answers; nobody else's time is to go into that.
_REST_SECONDS = 0.02
MOST_ADDED_MS = 0.3

_STATEMENT = "UPDATE workspaces SET name = name WHERE workspace_id = $1"
_ARGUMENTS = {"say": "one of many"}


async def _keep(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    await ctx.tx.execute(_STATEMENT, ctx.actor.workspace_id)
    return {"said": arguments["say"]}


KEEP = Capability(
    "bench.keep",
    "Keep",
    NOOP.input_schema,
    NOOP.output_schema,
    _keep,
    annotations=Annotations(effect=Effect.KEEP, transactional=True),
)

# What is compared with what.
ADDED = {
    "a step's call, added": ("a step's call", "the bare handler"),
    "a person's read, added": ("a person's read", "the bare handler"),
    "a person's write, added": ("a person's write", "a walled transaction"),
}

Work = Callable[[], Awaitable[object]]


def measure() -> dict[str, float]:
    """Milliseconds of one call, by what was measured."""
    return uvloop.run(_measured())


def show(found: Mapping[str, float]) -> None:
    for name, value in found.items():
        print(f"  {name:<42} {value:>8.4f} ms")
    for name in ADDED:
        verdict = "met" if found[name] <= MOST_ADDED_MS else "MISSED"
        print(f"  {name}: at most {MOST_ADDED_MS} ms, {verdict}")


async def _measured() -> dict[str, float]:
    # The rate limit is for others; here we are the flood.
    free = {"direct_burst": 1_000_000, "direct_per_second": 1_000_000}
    async with fresh_house(limits=free) as application:
        gate = Gate(
            Registry(capabilities=(NOOP, KEEP)),
            application.database,
            application.egress,
            application.vault,
            application.clock,
            application.limits,
            mailer=application.mailer,
        )
        try:
            return await _compared(application, gate)
        finally:
            await gate.aclose()


async def _compared(application: Application, gate: Gate) -> dict[str, float]:
    space = application.workspace_id
    caller = CapabilityCaller(Actor(space, "member", FIRST_MEMBER, role=Role.OWNER))
    ask = _ask(space)

    async def bare() -> object:
        return await NOOP.handler(_nobody(), _ARGUMENTS)

    async def ordinary() -> None:
        async with application.database.transaction() as tx:
            await tx.execute(_STATEMENT, space)

    async def walled() -> None:
        async with WorkspaceDatabase(application.database, space).transaction() as tx:
            await tx.execute(_STATEMENT, space)

    return await _rounds(
        {
            "the bare handler": (bare, CALLS),
            "an ordinary transaction": (ordinary, WRITES),
            "a walled transaction": (walled, WRITES),
            "a person's write": (lambda: gate.serve(caller, "bench.keep", _ARGUMENTS), WRITES),
            "a step's call": (lambda: gate.call(ask), CALLS),
            "a person's read": (lambda: gate.serve(caller, "bench.noop", _ARGUMENTS), CALLS),
        }
    )


def _ask(space: Any) -> CapabilityCall:
    run = RunRef(generate_id(), generate_id(), "a")
    grants = (Grant("bench.noop", {"say": [_ARGUMENTS["say"], "another"]}),)
    actor = Actor(space, "run", run.id)
    return CapabilityCall(
        "bench.noop", _ARGUMENTS, actor, run, 1, RunPolicy(grants), RunBudget(Decimal(1))
    )


def _nobody() -> Any:
    """The handler that does nothing looks at nothing."""
    return None


async def _rounds(works: Mapping[str, tuple[Work, int]]) -> dict[str, float]:
    """Medians over rounds in which everything takes its turn; the first one warms up."""
    seen: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS + 1):
        for name, (work, times) in works.items():
            await asyncio.sleep(_REST_SECONDS)
            began = time.perf_counter()
            for _ in range(times):
                await work()
            seen[name].append((time.perf_counter() - began) / times * 1000)
    found = {name: statistics.median(values[1:]) for name, values in seen.items()}
    for name, (whole, part) in ADDED.items():
        pairs = zip(seen[whole][1:], seen[part][1:], strict=True)
        found[name] = statistics.median(more - less for more, less in pairs)
    return found


if __name__ == "__main__":
    show(measure())
