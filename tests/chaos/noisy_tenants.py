"""What one does to another: floods of webhooks and scripts that use up all they get: W4, S6."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import Any

from mainspring.actions.script.sandbox.caps import ProcessLimits
from mainspring.actions.script.sandbox.isolation import IsolationMode
from mainspring.actions.script.sandbox.pool import FLAGS, SandboxPool
from mainspring.actions.script.sandbox.process import Frame
from mainspring.app import open_application
from mainspring.contracts.roles import Role
from mainspring.definition.validate import validate
from mainspring.settings import Settings
from mainspring.store.data_folder import read_owner
from mainspring.store.embedded import build_dsn
from mainspring.workspace.automations import FIRST_MEMBER, save, set_state
from mainspring.workspace.people.workspaces import add_workspace
from mainspring.workspace.webhooks import rotate
from tests.chaos.batteries import battery
from tests.chaos.check import (
    CheckOptions,
    Verdict,
    at_least,
    at_most,
    exactly,
    none_of,
    percentile,
    told,
)
from tests.chaos.sender import apart
from tests.chaos.started_server import StartedServer, hooked_document, standing
from tests.kit.escapes.bombs import CAPS, LATER, MORE, Blast, bombs, first_frame, light
from tests.kit.postgres import open_folder

_FLOOD, _FLOOD_SECONDS = 1_000, 10.0
_OTHER, _STEADY = 5.0, 100
# A shared machine may not be able to answer a thousand calls a second at all. There the flood is as
# fast as answers come, with so many calls that wait for one.
_UNANSWERED = 20
# More calls than this in a flood are more than the rate limiter accepts.
_LIMITED = 2_000
# Two processes start meanwhile, and that is not part of the flood.
_START_SECONDS = 2.0


async def flood(asked: CheckOptions) -> Verdict:
    """W4. In turn, so that both meet the same machine: a pause of the machine is nobody's flood."""
    rounds = asked.of(3, 9, check=1)
    alone, another, floods = [], [], []
    async with standing() as server:
        hook = await server.hooked("flooded")
        with open_folder() as folder:
            other = await _tenant(server, folder)
        warm = await apart(server.address, hook, 20, 2)
        steady = await apart(server.address, hook, _STEADY, asked.of(5.0, 30.0))
        await apart(server.address, other, 20, 2)
        for _ in range(rounds):
            quiet = await apart(server.address, other, _OTHER, _FLOOD_SECONDS, after=_START_SECONDS)
            alone += quiet["took"]
            flooding = asyncio.create_task(
                apart(
                    server.address,
                    hook,
                    _FLOOD,
                    _FLOOD_SECONDS,
                    after=_START_SECONDS,
                    most=asked.of(0, 0, check=_UNANSWERED),
                )
            )
            busy = await apart(server.address, other, _OTHER, _FLOOD_SECONDS, after=_START_SECONDS)
            another += busy["took"]
            floods.append(await flooding)
        runs = await server.ask("SELECT count(*) FROM runs WHERE automation_id = $1::uuid", hook[0])
    answers = Counter(dict(steady["statuses"]))
    for one in (warm, *floods):
        answers.update(one["statuses"])
    broken = ["broken"] * sum(one["broken"] for one in floods)
    sent = sum(sum(one["statuses"].values()) for one in floods)
    strange = [one for one in answers if one not in ("202", "429")]
    usual, crowded = asked.slowest(alone), asked.slowest(another)
    late = percentile(steady["took"], 0.95)
    return Verdict(
        [
            at_least("refused with 429", answers["429"], rounds if sent > _LIMITED * rounds else 0),
            exactly(
                "of which said when to come again",
                sum(one["told_when"] for one in (warm, steady, *floods)),
                answers["429"],
            ),
            none_of("other answers and broken calls", [*strange, *broken]),
            exactly("runs, for calls accepted", runs, answers["202"]),
            exactly("the other tenant's calls accepted", len(another), int(_OTHER * 10) * rounds),
            asked.at_most("slowest of the other tenant, times that alone", crowded / usual, 2, ""),
            exactly(
                "accepted at 100 calls a second",
                len(steady["took"]),
                int(_STEADY * asked.of(5.0, 30.0)),
            ),
            told("p95 at 100 calls a second", f"{late:.0f} ms")
            if asked.is_shared
            else at_most("p95 at 100 calls a second", late, 100, "ms"),
            told("slowest of the other alone", f"{usual:.0f} ms, beside {crowded:.0f} ms"),
            told(
                "its median alone",
                f"{percentile(alone, 0.5):.1f} ms, beside {percentile(another, 0.5):.1f} ms",
            ),
            told(
                "each flood",
                f"{sum(floods[0]['statuses'].values()):,} calls in "
                f"{floods[0]['sent_seconds']:.1f} s",
            ),
        ]
    )


async def _tenant(server: StartedServer, folder: Path) -> tuple[str, str]:
    """A webhook in a workspace of its own, made in the database that the server uses."""
    owner = read_owner(server.home)
    assert owner is not None
    settings = Settings(home=folder, database_url=build_dsn(owner.socket))
    async with open_application(settings) as application:
        report = validate(hooked_document("quiet"), application.registry, application.limits)
        assert report.definition is not None, report.findings
        async with application.database.transaction() as tx:
            space = await add_workspace(tx, FIRST_MEMBER, "others", Role.OWNER)
            stored = await save(
                tx, space, report.definition, report.grants, FIRST_MEMBER, via="page"
            )
            await set_state(tx, space, stored.automation_id, "active")
            _, token = await rotate(tx, space, stored.automation_id, "hook", FIRST_MEMBER)
    return str(stored.automation_id), token


# The battery of the table; the others are run as well, by the tests of the sandbox.
_QUICK = (
    "a loop",
    "typed arrays",
    "a million timers",
    "a fork of threads",
    "a gigabyte of output",
    "a million lines of errors",
    "a million fetches",
    "recursion",
    "a pattern that never ends",
    "a disk full of files",
)
_WARM_UP, _TURNS = 5, 40


async def resources(asked: CheckOptions) -> Verdict:
    """S6."""
    sources = bombs()
    chosen = list(sources) if asked.size == "full" else list(_QUICK)
    async with SandboxPool(
        warm=0, most=6, wanted=IsolationMode.AUTO, caps=CAPS, flags=FLAGS
    ) as sandboxes:
        for _ in range(_WARM_UP):
            await _neighbour(sandboxes)
        alone = [await _neighbour(sandboxes) for _ in range(_TURNS)]
        done = asyncio.Event()
        other = asyncio.create_task(_neighbours(sandboxes, done))
        blasts = [await light(sandboxes, name, sources[name]) for name in chosen]
        done.set()
        waits = await other
    peak = max(blast.peak_kb for blast in blasts) / 1024
    return Verdict(
        [
            none_of(f"of {len(chosen)} scripts not held", _loose(blasts)),
            at_most(
                "longest life",
                max(blast.seconds for blast in blasts),
                CAPS.wall_seconds + LATER,
                "s",
            ),
            at_most("most memory touched", peak, CAPS.memory_mb * MORE, "MB"),
            at_most("most output read", max(b.output for b in blasts), CAPS.output_bytes, "bytes"),
            asked.at_most(
                "slowest of a neighbour, times that alone",
                asked.slowest(waits) / asked.slowest(alone),
                1.5,
                "",
            ),
            told("slowest of the neighbour alone", f"{asked.slowest(alone) * 1000:.0f} ms"),
            await battery(
                "kept output ends with a mark:",
                ["tests/integration/actions/script/escape/test_resources.py"],
                "ends_with_a_mark",
            ),
        ],
        _loose(blasts),
    )


def _loose(blasts: list[Blast]) -> list[str]:
    return [
        f"{one.name}: {one.seconds:.1f} s, {one.peak_kb} kB, {one.output} bytes, {one.reason}"
        for one in blasts
        if not one.held
    ]


async def _neighbours(sandboxes: SandboxPool, done: asyncio.Event) -> list[float]:
    found = [await _neighbour(sandboxes)]
    while not done.is_set():
        found.append(await _neighbour(sandboxes))
    return found


async def _neighbour(sandboxes: SandboxPool) -> float:
    """Seconds that an honest script takes, from asking for its place to its end."""
    began = time.perf_counter()
    async with sandboxes.taken(ProcessLimits(wall_seconds=30)) as process:
        await process.send(first_frame("return (await brains.x({ n: 20 })).n + 22;"))
        async for item in process:
            assert isinstance(item, Frame), item
            body: dict[str, Any] = item.body
            if "call" in body:
                await process.send({"answer": body["call"], "at": 1, "value": {"n": 20}})
            else:
                assert body == {"done": 42}, body
    return time.perf_counter() - began
