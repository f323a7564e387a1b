"""A worker in a process of its own, made to be killed.

    python -m tests.crash.worker_process '{"url": ..., "ledger": ..., ...}'

The one argument is an ``Orders`` as JSON. Given a commit point, the process kills, freezes
or stops itself, or kills somebody else, the nth time it comes by. It stops in good order on
SIGTERM, and at once when its input ends: nobody is left who would look after it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import uvloop

from mainspring.actions.script.runner import ScriptRunner
from mainspring.app import Application, build_registry, build_worker, open_application
from mainspring.contracts.limits import Limits
from mainspring.runs.rows import Hook
from mainspring.settings import Settings
from tests.crash.api_process import answer_calls
from tests.crash.capabilities import CrashCapabilities
from tests.crash.matcher_process import follow_log
from tests.crash.poller_process import keep_looking
from tests.crash.scheduler_process import keep_schedules
from tests.crash.side_effect_log import SideEffectLog

STDIN = 0

Fate = Literal["die", "freeze", "stop"]
SIGNALS: dict[Fate, signal.Signals] = {
    "die": signal.SIGKILL,
    "freeze": signal.SIGSTOP,
    "stop": signal.SIGTERM,
}


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """The options of a worker process."""

    url: str
    home: str
    ledger: str
    lease: float = 2.0
    heartbeat: float = 0.5
    poll: float = 0.2
    stop: float = 3.0
    slots: int = 8
    # After how many losses in mid-step a run is set aside. Blows that fall by chance may meet
    # one run again and again, which a poisoned one would do; then the storm allows for more.
    takeovers: int = Limits().takeovers
    # After how many failures in a row an automation is paused; one that fails on purpose is not.
    failures: int = Limits().failures_in_row
    least_ms: float = 2.0
    most_ms: float = 10.0
    # A commit point, at which time there, what happens then, and to whom if not itself.
    point: str | None = None
    nth: int = 1
    fate: Fate = "die"
    victim: int | None = None
    role: Literal["worker", "matcher", "scheduler", "poller", "api"] = "worker"
    port: int = 0
    # A scheduler's time: since when, in seconds since 1970, and how much faster it goes.
    since: float = 0.0
    pace: float = 1.0

    def as_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> WorkerOptions:
        return cls(**json.loads(text))

    def settings(self) -> Settings:
        return Settings(
            home=Path(self.home),
            database_url=self.url,
            slots=self.slots,
            lease_seconds=self.lease,
            heartbeat_seconds=self.heartbeat,
            poll_seconds=self.poll,
            stop_seconds=self.stop,
            limits={
                "takeovers": self.takeovers,
                "losses": max(self.takeovers, Limits().losses),
                "failures_in_row": self.failures,
            },
        )


def hook_of(orders: WorkerOptions) -> Hook:
    """Counts how often the chosen point is reached and acts at the nth time."""
    left = orders.nth

    def hook(point: str) -> None:
        nonlocal left
        if point == orders.point:
            left -= 1
            if left == 0:
                os.kill(orders.victim or os.getpid(), SIGNALS[orders.fate])

    return hook


async def _watch(orders: WorkerOptions, application: Application, stop: asyncio.Event) -> None:
    """One of the parts other than the workers."""
    if orders.role == "matcher":
        await follow_log(application, hook_of(orders), stop)
    elif orders.role == "poller":
        await keep_looking(application, hook_of(orders), stop, orders.lease)
    elif orders.role == "scheduler":
        await keep_schedules(application, hook_of(orders), stop, orders.since, orders.pace)
    else:
        await answer_calls(application, stop, orders.port)


async def work(orders: WorkerOptions) -> None:
    ledger = SideEffectLog(Path(orders.ledger))
    stunts = CrashCapabilities(ledger, orders.least_ms, orders.most_ms)
    workshop = ScriptRunner(Limits(), address=orders.settings().address, warm=1)
    registry = build_registry(Limits(), capabilities=stunts.capabilities(), script_runner=workshop)
    loop = asyncio.get_running_loop()
    loop.add_reader(STDIN, _end_with_the_parent)
    async with open_application(
        orders.settings(), registry=registry, script_runner=workshop
    ) as application:
        if orders.role != "worker":
            stop = asyncio.Event()
            loop.add_signal_handler(signal.SIGTERM, stop.set)
            await _watch(orders, application, stop)
            return
        worker = build_worker(application, hook=hook_of(orders))
        loop.add_signal_handler(signal.SIGTERM, worker.stop)
        await worker.run()


def _end_with_the_parent() -> None:
    if not os.read(STDIN, 1):
        os._exit(1)


def run(orders: WorkerOptions) -> None:
    """Works until it is stopped or killed."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    uvloop.run(work(orders))


if __name__ == "__main__":
    run(WorkerOptions.from_json(sys.argv[1]))
