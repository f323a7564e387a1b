"""Our own side of the table, and the yardstick, in both ways that runs come in.

The work is that of the peers: each step makes a small value from the one before it.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import uvloop

from bench import load, webhooks
from bench.engine import drain_engine
from bench.environment import fresh_house, plan_of, saved
from bench.peers.contender import (
    CONNECTIONS,
    FLOOR,
    OURS,
    QUEUE,
    WARM_CALLS,
    WEBHOOK,
    Contender,
    Figure,
    Measure,
)
from bench.peers.installs import Unavailable
from bench.peers.processes import WORK_SECONDS, cpu_seconds
from bench.server import Server, family, folder, up
from bench.sql_baseline import drain_bare, fill
from mainspring.app import Application
from mainspring.contracts.capability import Annotations, Capability
from mainspring.contracts.context import CallContext

DURABLE: Final = "yes, each step"
_BARE: Final = "the rows of ours"
_KEPT: Final = "run, input, steps, calls, event"


async def _next(ctx: CallContext, value: Mapping[str, Any]) -> dict[str, Any]:
    """What a step of the peers does too."""
    del ctx
    return {"n": value["n"] + 1, "said": value["said"]}


_VALUE: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["n", "said"],
    "properties": {"n": {"type": "integer"}, "said": {"type": "string"}},
    "additionalProperties": False,
}
STEP: Final = Capability(
    id="bench.step",
    description="Make the next value",
    input_schema=_VALUE,
    output_schema=_VALUE,
    handler=_next,
    annotations=Annotations(seconds=0.01),
)


def _chained(steps: int) -> dict[str, Any]:
    plan = plan_of(steps)
    for number, step in enumerate(plan["plan"]):
        before = f"steps.step_{number - 1}"
        made = {"n": f"{{{{ {before}.n }}}}", "said": f"{{{{ {before}.said }}}}"}
        step["action"] = STEP.id
        step["config"] = made if number else {"n": "{{ run.attempt }}", "said": "hello"}
    return plan


def _hooked(steps: int) -> dict[str, Any]:
    plan = webhooks.definition(steps)
    for number, step in enumerate(plan["plan"]):
        before, word = (f"steps.step_{number - 1}", "said") if number else ("trigger", "say")
        made = {"n": f"{{{{ {before}.n + 1 }}}}", "said": f"{{{{ {before}.{word} }}}}"}
        step["config"] = {"output": made}
    return plan


async def _drained(steps: int, runs: int, *, bare: bool) -> Figure:
    async with fresh_house(capabilities=[STEP]) as application:
        automation = await saved(application, _chained(steps))
        await fill(application, automation, runs)
        spent = _spent(application)
        seconds = (
            (await drain_bare(application, steps))[1]
            if bare
            else await drain_engine(application, runs)
        )
        done = await application.database.fetchval(
            "SELECT count(*) FROM runs WHERE status='succeeded'"
        )
        assert done == runs, f"{done} of {runs} runs succeeded"
        return Figure(runs, seconds, _spent(application) - spent)


def _spent(application: Application) -> float:
    """This process and the database's."""
    server = application.database.server
    assert server is not None
    assert server.pid is not None
    return time.process_time() + cpu_seconds([server.pid])


@contextmanager
def _floor() -> Iterator[Measure]:
    yield lambda steps, runs: uvloop.run(_drained(steps, runs, bare=True))


@contextmanager
def _engine() -> Iterator[Measure]:
    yield lambda steps, runs: uvloop.run(_drained(steps, runs, bare=False))


@contextmanager
def _http_floor() -> Iterator[Measure]:
    yield lambda steps, runs: uvloop.run(_bare_webhooks(steps, runs))


async def _bare_webhooks(steps: int, runs: int) -> Figure:
    async with fresh_house() as application:
        automation, _ = await saved(application, _hooked(steps))
        server = application.database.server
        assert server is not None
        assert server.pid is not None
        return await asyncio.to_thread(
            _called, server.dsn, server.pid, str(automation), steps, runs
        )


def _called(url: str, database: int, automation: str, steps: int, runs: int) -> Figure:
    with webhooks.bare(url, automation, steps) as port:
        process = next(pid for pid in family(os.getpid()) if _is_floor(pid))
        load.run(load.Load("127.0.0.1", port, "/", "none", WARM_CALLS, CONNECTIONS))
        spent = cpu_seconds([database, process])
        sent = load.run(load.Load("127.0.0.1", port, "/", "none", runs, CONNECTIONS))
        seconds = _until_ended(url, sent, runs)
        return Figure(runs, seconds, cpu_seconds([database, process]) - spent)


def _until_ended(url: str, sent: dict[str, Any], runs: int) -> float:
    """Seconds from the first call to the end of the last run."""
    deadline = time.monotonic() + WORK_SECONDS
    while webhooks.ask(url, webhooks.UNFINISHED)[0][0]:
        if time.monotonic() > deadline:
            raise Unavailable(f"{runs} runs did not end within {WORK_SECONDS:.0f} s")
        time.sleep(0.1)
    return runs / webhooks.rate(url, sent, runs)


def _is_floor(pid: int) -> bool:
    try:
        return b"bench.http_baseline" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _hook(server: Server, steps: int) -> tuple[str, str]:
    """An active automation: the path of its webhook, and the token for it."""
    made = server.call("POST", "/automations", _hooked(steps))
    path = f"/automations/{made['id']}"
    server.call("POST", f"{path}/activate")
    return f"/api/v1{path}/fire", server.call("POST", f"{path}/triggers/hook/token")["token"]


@contextmanager
def _server() -> Iterator[Measure]:
    with folder() as made, up(made / "home", **webhooks.OPEN) as server:
        url = webhooks.database_of(server)

        def measure(steps: int, runs: int) -> Figure:
            hook = _hook(server, steps)
            sent = load.run(webhooks.aimed(server, hook, WARM_CALLS, CONNECTIONS))
            _until_ended(url, sent, WARM_CALLS)
            spent = cpu_seconds([server.pid])
            sent = load.run(webhooks.aimed(server, hook, runs, CONNECTIONS))
            assert sent["statuses"] == {"202": runs}, sent["statuses"]
            seconds = _until_ended(url, sent, runs)
            return Figure(runs, seconds, cpu_seconds([server.pid]) - spent)

        yield measure


def contenders() -> list[Contender]:
    """The yardstick and ours, for each way in."""
    drained, called = {1: 4_000, 5: 2_000}, {1: 3_000, 5: 2_000}
    return [
        Contender(FLOOR, QUEUE, DURABLE, _BARE, drained, _floor),
        Contender(OURS, QUEUE, DURABLE, _KEPT, drained, _engine),
        Contender(FLOOR, WEBHOOK, DURABLE, "the rows of ours, no calls", called, _http_floor),
        Contender(OURS, WEBHOOK, DURABLE, _KEPT, called, _server),
    ]
