"""Asks the REST surface what nobody would, and looks for answers that break its word.

    python -m scripts.fuzz_api                        100 examples for each operation, as owner
    python -m scripts.fuzz_api --role viewer          as somebody else; see --help for the roles
    python -m scripts.fuzz_api --all-roles --minutes 2    two minutes for each of them
    python -m scripts.fuzz_api --report PAGE          and writes the numbers into a page

It opens its own application in a temporary folder, uses it for a while (automations, runs,
drafts, boards, pages, people), and lets schemathesis send what the published description
allows and what it forbids. A finding is an error of the server, an answer that the
description does not have (another status, another content type, another shape), a method
that nobody described, or a way in without a token. Exit code 1 means that there were findings.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from mainspring.surfaces.rest.openapi import describe
from scripts.fuzz.filling import OF_OTHERS
from scripts.fuzz.known_values import known_in
from scripts.fuzz.people import CHANGING, ROLES, caller_of
from scripts.fuzz.sample_data import live
from scripts.fuzz.schemathesis_run import Plan, Verdict, look
from scripts.fuzz.sections import table, taken_on, write_section
from scripts.fuzz.server import Server, open_server, own_folder

# After so long, much of what was there has been taken away: the next round has a new application.
_ROUND_SECONDS: Final = 240
_SHORTEST_SECONDS: Final = 10
_MOST_ROUNDS: Final = 10_000
# What nobody gets past without taking their own way in away.
_OWN_WAY: Final = ("sign_out", "switch_workspace", "change_password")
_SECTION: Final = "api"


@dataclass(slots=True)
class RoleResult:
    """What came of all the rounds as one role."""

    role: str
    operations: int = 0
    cases: int = 0
    findings: int = 0
    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    reached: int = 0
    texts: list[str] = field(default_factory=list)
    broken: int = 0

    @property
    def outcome(self) -> str:
        """As text; a role that was asked nothing has not passed either."""
        if self.broken:
            return "NOT as described, see above"
        return "as described" if self.operations else "NOTHING was asked: give it more time"

    def add(self, verdict: Verdict) -> None:
        self.operations = max(self.operations, verdict.operations)
        self.cases += verdict.cases
        self.findings += verdict.findings
        if not verdict.ok:
            self.broken += 1
            self.texts.append(verdict.text)


class ServerCache:
    """An application with sample data for the next caller; a changed one is dropped."""

    def __init__(self) -> None:
        self._inside = AsyncExitStack()
        self._server: Server | None = None

    async def server(self) -> Server:
        if self._server is None:
            folder = self._inside.enter_context(own_folder())
            self._server = await self._inside.enter_async_context(open_server(folder / "home"))
            await live(self._server.application, self._server.address, self._server.token)
        self._server.tally.statuses.clear()
        self._server.tally.reached.clear()
        return self._server

    async def leave(self) -> None:
        self._server = None
        await self._inside.aclose()


async def look_as(
    environment: ServerCache, role: str, plan: Plan, minutes: float | None
) -> RoleResult:
    """All rounds as one role."""
    found, looked = RoleResult(role), 0.0
    reached: set[str] = set()
    for number in range(_MOST_ROUNDS):
        left = None if minutes is None else minutes * 60 - looked
        if number and (left is None or left < _SHORTEST_SECONDS):
            break
        server = await environment.server()
        began = time.monotonic()
        found.add(await _round(server, role, plan, number, left))
        looked += time.monotonic() - began
        found.statuses += server.tally.statuses
        reached |= server.tally.reached
        if role in CHANGING:
            await environment.leave()
    found.reached, found.seconds = len(reached), looked
    return found


async def _round(server: Server, role: str, plan: Plan, number: int, left: float | None) -> Verdict:
    caller = await caller_of(server.application, role)
    document = describe(server.app)
    known = await known_in(server.application, server.app, document, caller.own)
    seconds = (
        plan.seconds if left is None else max(_SHORTEST_SECONDS, int(min(left, _ROUND_SECONDS)))
    )
    seed = None if plan.seed is None else plan.seed + number
    without = _OWN_WAY if role == "browser" else ()
    asked = replace(plan, headers=caller.headers, seconds=seconds, seed=seed, without=without)
    return await look(server.address, document, known, asked)


async def look_as_all(
    roles: Sequence[str], plan: Plan, minutes: float | None, tell: Callable[[RoleResult], None]
) -> None:
    """One after the other; those who may change nothing share an application."""
    environment = ServerCache()
    try:
        for role in roles:
            tell(await look_as(environment, role, plan, minutes))
    finally:
        await environment.leave()


def said(looked: Sequence[RoleResult]) -> str:
    """The numbers as a part of the page."""
    head = ("Asked as", "Operations", "Answered 2xx", "Requests", "Answers", "Findings")
    rows = [
        (
            one.role,
            one.operations,
            one.reached,
            sum(one.statuses.values()),
            " ".join(f"{status}×{count}" for status, count in sorted(one.statuses.items())),
            one.findings,
        )
        for one in looked
    ]
    minutes = sum(one.seconds for one in looked) / 60
    every = sum((one.statuses for one in looked), Counter[int]())
    outside = sum(every[status] for status in OF_OTHERS)
    broken = sum(count for status, count in every.items() if status >= 500) - outside
    return (
        f"{taken_on()} {minutes:.0f} minutes in all. {broken} answers were errors of the server "
        f"(5xx); {outside} said that somebody outside did not answer (502, 504).\n\n"
        + table(head, rows)
    )


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fuzz the REST surface.")
    parser.add_argument("--examples", type=int, default=100, help="for each operation")
    parser.add_argument("--seconds", type=int, default=None, help="go on until they are over")
    parser.add_argument("--minutes", type=float, default=None, help="for each role, in rounds")
    parser.add_argument("--seed", type=int, default=None, help="ask the same again")
    parser.add_argument("--only", action="append", default=[], help="an operation; more than once")
    parser.add_argument("--phases", default=Plan().phases, help=argparse.SUPPRESS)
    parser.add_argument("--report", type=Path, default=None, help="a page to write into")
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--role", action="append", choices=ROLES, help="more than once")
    who.add_argument("--all-roles", action="store_true")
    return parser.parse_args()


def main() -> None:
    asked = _asked()
    roles = ROLES if asked.all_roles else asked.role or ["installation-administrator"]
    plan = Plan(
        examples=asked.examples,
        phases=asked.phases,
        seconds=asked.seconds,
        seed=asked.seed,
        only=asked.only,
    )
    looked: list[RoleResult] = []

    def tell(one: RoleResult) -> None:
        for text in one.texts:
            print(text)
        print(
            f"{one.role}: {one.operations} operations, {one.cases} cases, {one.findings} findings: "
            + one.outcome,
            flush=True,
        )
        looked.append(one)
        if asked.report is not None:
            write_section(asked.report, _SECTION, said(looked))

    asyncio.run(look_as_all(roles, plan, asked.minutes, tell))
    sys.exit(0 if all(one.outcome == "as described" for one in looked) else 1)


if __name__ == "__main__":
    main()
