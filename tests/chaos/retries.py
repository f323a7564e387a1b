"""Retries: how often, how soon, and when not at all: R11."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from mainspring.app import Application, build_worker
from mainspring.contracts.capability import Annotations, Capability
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Invalid, UpstreamError
from mainspring.definition.validate import validate
from mainspring.runs.execute import Backoff, pause_before
from mainspring.runs.rows import FINAL
from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.automations import FIRST_MEMBER, save
from tests.chaos.check import CheckOptions, Figure, Verdict, exactly, none_of, told
from tests.chaos.single_application import house_alone
from tests.kit.bench import document, step

_ANYTHING: dict[str, Any] = {"type": "object"}
_BACKOFFS: tuple[Backoff, ...] = ("none", "linear", "exponential")
_MOST_TRIES = 3
# How late a try may be on a busy machine; never how early.
_LATE = 1.0


@dataclass(slots=True)
class Outside:
    """Somebody outside who fails as often as asked, and keeps the time of each try."""

    tries: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def capability(self) -> Capability:
        return Capability(
            "chaos.stumble",
            "Fails.",
            _ANYTHING,
            _ANYTHING,
            self.stumble,
            annotations=Annotations(seconds=0.01),
        )

    async def stumble(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        stored = self.tries[ctx.key]
        stored.append(time.monotonic())
        if len(stored) <= arguments.get("failures", 0):
            if arguments.get("permanent"):
                raise Invalid("The other side says no.", code="refused")
            raise UpstreamError("Not now.", code="busy", retry_after=arguments.get("retry_after"))
        return {}

    def of(self, run: UUID, step_id: str = "a") -> list[float]:
        return self.tries.get(f"{run}/{step_id}/1", [])


@dataclass(frozen=True, slots=True)
class Case:
    """A plan, and how it must go."""

    name: str
    plan: tuple[dict[str, Any], ...]
    tries: int
    status: str
    # The formula's pauses between the tries, before they are spread.
    pauses: tuple[float, ...] = ()
    # Whether the pause is what the other side asked for, which is not spread.
    asked_for: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)


def _cases(repeats: int) -> list[Case]:
    made = []
    for backoff in _BACKOFFS:
        for failures in range(_MOST_TRIES + 1):
            pauses = tuple(_formula(backoff, number) for number in range(1, failures + 1))
            config = {"failures": failures}
            plan = step("a", "chaos.stumble", config, retry_backoff=backoff, max_retries=3)
            case = Case(f"{backoff} {failures}", (plan,), failures + 1, "succeeded", pauses)
            made += [case] * repeats
    later = {"failures": 1, "retry_after": 3}
    made += [
        Case(
            "Retry-After",
            (step("a", "chaos.stumble", later, retry_backoff="none"),),
            2,
            "succeeded",
            (3.0,),
            asked_for=True,
        ),
        Case(
            "permanent",
            (step("a", "chaos.stumble", {"failures": 9, "permanent": True}),),
            1,
            "failed",
        ),
        Case(
            "used up",
            (step("a", "chaos.stumble", {"failures": 9}, retry_backoff="none"),),
            3,
            "failed",
        ),
        Case(
            "when",
            (step("a", "chaos.stumble", when="{{ 1 / inputs.zero > 0 }}"),),
            0,
            "failed",
            more=_ZERO,
        ),
        Case(
            "config",
            (step("a", "chaos.stumble", {"failures": "{{ 1 / inputs.zero }}"}),),
            0,
            "failed",
            more=_ZERO,
        ),
    ]
    return made


_ZERO = {
    "inputs": {
        "schema": {"type": "object", "properties": {"zero": {"type": "integer", "default": 0}}}
    }
}
# Three steps that take 2.4 to 3.6 s each, and a little more on a busy machine: the run's own time
# ends the second or the third, and not the first.
_SECONDS = 6
_BUDGET = Case(
    "budget",
    tuple(
        step(name, "chaos.stumble", {"failures": 2}, retry_backoff="exponential", max_retries=3)
        for name in ("a", "b", "c")
    ),
    3,
    "timed_out",
    more={"execution": {"timeout_seconds": _SECONDS, "concurrency": "allow_parallel"}},
)


def _formula(backoff: Backoff, attempt: int) -> float:
    return {"none": 0.0, "linear": float(attempt), "exponential": 2.0 ** (attempt - 1)}[backoff]


async def retries(asked: CheckOptions) -> Verdict:
    """R11."""
    outside, cases = Outside(), [*_cases(asked.of(2, 10)), _BUDGET]
    async with house_alone([outside.capability()]) as application:
        ended = await _worked(application, cases)
    return _judged(outside, list(zip(cases, ended, strict=True)), asked)


async def _worked(application: Application, cases: list[Case]) -> list[dict[str, Any]]:
    """Hands all of them in at once and works until the last has ended."""
    runs = []
    for number, case in enumerate(cases):
        more = {"execution": {"concurrency": "allow_parallel"}, **case.more}
        report = validate(
            document(*case.plan, name=f"case {number}", **more),
            application.registry,
            application.limits,
        )
        assert report.definition is not None, report.findings
        async with application.database.transaction() as tx:
            stored = await save(
                tx,
                application.workspace_id,
                report.definition,
                report.grants,
                FIRST_MEMBER,
                via="page",
            )
        runs.append(RunRequest(application.workspace_id, stored.automation_id))
    made = [one.run_id for one in await application.dispatcher.dispatch_all(runs)]
    quick = replace(application, settings=replace(application.settings, stop_seconds=1.0))
    worker = build_worker(quick)
    working = asyncio.create_task(worker.run())
    try:
        while True:
            rows = await application.database.fetch(
                "SELECT id, status, reason, active_ms FROM runs WHERE id = ANY($1::uuid[])", made
            )
            found = {row["id"]: dict(row) for row in rows}
            if all(row["status"] in FINAL for row in found.values()):
                return [found[one] for one in made]
            await asyncio.sleep(0.1)
    finally:
        worker.stop()
        await working


def _judged(
    outside: Outside, found: list[tuple[Case, dict[str, Any]]], asked: CheckOptions
) -> Verdict:
    wrong, early, late = [], [], [0.0]
    for case, run in found:
        tries = outside.of(run["id"])
        if len(tries) != case.tries or run["status"] != case.status:
            wrong.append(f"{case.name}: {len(tries)} tries and {run['status']} ({run['reason']})")
        gaps = [after - before for before, after in itertools.pairwise(tries)]
        for gap, pause in zip(gaps, case.pauses, strict=False):
            least, most = (pause, pause) if case.asked_for else (0.8 * pause, 1.2 * pause)
            late.append(gap - most)
            if gap < least - 0.005:
                early.append(f"{case.name}: {gap:.2f} s after a pause of {least:.2f} s at least")
    budget = next(run for case, run in found if case is _BUDGET)
    return Verdict(
        [
            none_of(f"of {len(found)} runs with another number of tries or another end", wrong),
            none_of("pauses shorter than four fifths of the formula", early),
            asked.at_most("pauses beyond six fifths of it by", max(late), _LATE),
            _spread(asked.chance()),
            exactly("a run whose steps used up its time", budget["reason"], "run_timeout"),
            told("of which it had", f"{_SECONDS} s"),
        ],
        [*wrong, *early],
    )


def _spread(chance: random.Random) -> Figure:
    """The formula itself, over many draws."""
    bad = []
    for _ in range(10_000):
        attempt, backoff = chance.randrange(1, 8), chance.choice(_BACKOFFS)
        given = pause_before(attempt, backoff, retry_after=None, chance=chance.random(), most=3_600)
        plain = _formula(backoff, attempt)
        if not 0.8 * plain <= given <= 1.2 * plain:
            bad.append(f"{backoff} {attempt}: {given}")
    return none_of("of 10,000 drawn pauses outside of ±20 %", bad)
