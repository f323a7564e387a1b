"""The resource battery: scripts that use up all they can get, and what each of them got.

The bombs are in ``bombs.js``, each under a heading ``//// name``. What ends one is its own
affair: an error that it is given, a bound that it passes.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from mainspring.actions.script.sandbox.caps import ProcessLimits
from mainspring.actions.script.sandbox.pool import FLAGS, SandboxPool
from mainspring.actions.script.sandbox.process import Frame, OutputChunk
from tests.kit.escapes.battery import EVERYTHING, Mode
from tests.kit.processes import is_running

CAPS: Final = ProcessLimits(
    1.5, cpu_seconds=1, memory_mb=192, output_bytes=1 << 20, frame_bytes=1 << 20
)
# How much longer than its bound a script may live, and how much more memory it may touch.
LATER: Final = 60.0
MORE: Final = 1.2
_HEADING: Final = re.compile(r"^//// (.+)$", re.MULTILINE)
_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True)
class Blast:
    """What came of one bomb."""

    name: str
    seconds: float
    peak_kb: int
    output: int
    reason: str | None
    pid: int

    @property
    def held(self) -> bool:
        in_time = self.seconds <= CAPS.wall_seconds + LATER
        return (
            in_time
            and self.peak_kb <= CAPS.memory_mb * 1024 * MORE
            and self.output <= CAPS.output_bytes
            and not is_running(self.pid)
        )


def bombs() -> dict[str, str]:
    text = (Path(__file__).parent / "bombs.js").read_text(encoding="utf-8")
    found = _HEADING.split(text)
    return dict(zip(found[1::2], found[2::2], strict=True))


async def run_bombs(mode: Mode) -> dict[str, Any]:
    """All of them, a few at a time, while another script keeps working."""
    chosen = list(bombs().items())[mode.offset :: mode.every]
    done, turns = asyncio.Event(), asyncio.Semaphore(_AT_ONCE)
    flags = EVERYTHING if mode.open else FLAGS
    wanted = mode.requested
    async with SandboxPool(warm=0, most=6, wanted=wanted, caps=CAPS, flags=flags) as sandboxes:
        walls = await sandboxes.read_isolation()
        neighbour = asyncio.create_task(_beside(sandboxes, done))

        async def one(name: str, text: str) -> Blast:
            async with turns:
                return await light(sandboxes, name, text)

        blasts = await asyncio.gather(*(one(name, text) for name, text in chosen))
        done.set()
        finished = await neighbour
    return {
        "mode": f"bombs, {mode.name}",
        "walls": walls.as_dict(),
        "held": finished > 0 and all(blast.held for blast in blasts),
        "tried": [blast.name for blast in blasts],
        "burst": [asdict(blast) for blast in blasts if not blast.held],
        "reasons": {blast.name: blast.reason for blast in blasts},
        "beside": finished,
    }


async def light(sandboxes: SandboxPool, name: str, text: str) -> Blast:
    """The host answers nothing, so that everything piles up."""
    output = 0
    async with sandboxes.taken(CAPS) as process:
        began = time.monotonic()
        await process.send(first_frame(text))
        async for item in process:
            if isinstance(item, OutputChunk):
                output += len(item.text.encode())
        ended = await process.ended()
        seconds = time.monotonic() - began
        assert process.pid is not None
    return Blast(name, seconds, ended.peak_kb, output, ended.reason, process.pid)


async def _beside(sandboxes: SandboxPool, done: asyncio.Event) -> int:
    """A script that does its work over and over until the bombs are spent."""
    finished = 0
    while not (finished and done.is_set()):
        async with sandboxes.taken(ProcessLimits(wall_seconds=30)) as process:
            await process.send(first_frame("return (await brains.x({ n: 20 })).n + 22;"))
            async for item in process:
                assert isinstance(item, Frame), item
                if "call" in item.body:
                    answer = {"answer": item.body["call"], "at": 1, "value": {"n": 20}}
                    await process.send(answer)
                else:
                    assert item.body == {"done": 42}, item.body
                    finished += 1
    return finished


def first_frame(text: str) -> dict[str, Any]:
    return {
        "kind": "run",
        "nonce": secrets.token_hex(16),
        "js": f"export default async ({{ brains }}) => {{\n{text}\n}};",
        "began": 1,
        "seed": secrets.token_hex(32),
        "env": {},
        "names": [],
        "trigger": {},
        "input": None,
        "run": {},
    }
