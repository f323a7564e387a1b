"""Runs the escape battery behind one choice of isolation layers, and reports the outcome.

``Mode.open`` takes Deno's own permissions away as a layer: then only what the kernel holds
is tried. With ``NONE`` and closed, only Deno is tried; with ``NONE`` and open, nothing is
left, and the battery must succeed: that is its control.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from mainspring.actions.script.sandbox.caps import ProcessLimits
from mainspring.actions.script.sandbox.isolation import IsolationMode
from mainspring.actions.script.sandbox.pool import FLAGS, SandboxPool
from mainspring.actions.script.sandbox.process import Frame
from tests.kit.escapes.planted import Planted, planted
from tests.kit.escapes.table import Attempt, Script, attempts, scripts, storage
from tests.kit.processes import is_running

DOOR: Final = "http://127.0.0.1:9/mcp"
EVERYTHING: Final = ("--allow-all", "--no-prompt", "--no-config", "--no-lock", "--no-code-cache")
_SECONDS: Final = 12.0
_PATIENT_SECONDS: Final = 120.0
_ROOM: Final = ProcessLimits(wall_seconds=_SECONDS, cpu_seconds=10, memory_mb=256)
_MORE_ROOM: Final = ProcessLimits(wall_seconds=_SECONDS, cpu_seconds=10, memory_mb=1024)
_REFUSED: Final = {
    "title": "Not allowed",
    "detail": "This address is not public.",
    "status": 403,
    "code": "address_not_public",
}


@dataclass(frozen=True, slots=True)
class Mode:
    """Which isolation layers are on, and how much of the table is run (every nth attempt)."""

    requested: IsolationMode
    open: bool = False
    every: int = 1
    offset: int = 0

    @property
    def needs_no_deno(self) -> bool:
        """Whether the kernel's isolation is the only layer."""
        return self.open and self.requested is not IsolationMode.NONE

    @property
    def name(self) -> str:
        return f"{self.requested.value}{' without Deno' if self.open else ''}"


@dataclass(slots=True)
class Verdict:
    """The outcome of one battery; everything but ``tried`` and ``walls`` should be empty."""

    mode: str
    walls: dict[str, Any] = field(default_factory=dict)
    tried: list[str] = field(default_factory=list)
    # Attempts that nothing was heard of, though their process had no reason to be silent.
    untried: list[str] = field(default_factory=list)
    leaks: dict[str, list[str]] = field(default_factory=dict)
    connections: dict[str, int] = field(default_factory=dict)
    # Processes, files and folders that were still there afterwards.
    left: list[str] = field(default_factory=list)
    output: dict[str, str] = field(default_factory=dict)

    @property
    def held(self) -> bool:
        return not (self.untried or self.leaks or self.connections or self.left)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"held": self.held}


class Battery:
    """One mode: the sandboxes, what is planted around them, and another run to steal from."""

    def __init__(self, mode: Mode, sandboxes: SandboxPool, ground: Planted) -> None:
        self.verdict = Verdict(mode.name)
        self._mode = mode
        self._sandboxes = sandboxes
        self._ground = ground
        self._names = dict(ground.names)
        self._given: dict[str, Any] = {}
        self._pids: set[int] = set()

    async def run(self, worker: int) -> Verdict:
        walls = await self._sandboxes.read_isolation()
        self.verdict.walls = walls.as_dict()
        async with self._neighbour() as other_tenant:
            self._names |= {
                "WORKER": str(worker),
                "LAUNCHER": str(self._sandboxes.launcher_pid),
                "NEIGHBOUR": str(other_tenant),
                "CACHE": f"{self._sandboxes.folder}/cache",
            }
            self._given = {
                "open": self._names["OPEN"],
                "worker": worker,
                "neighbour": other_tenant,
                "launcher": self._sandboxes.launcher_pid,
                "door": DOOR,
            }
            chosen = attempts()[self._mode.offset :: self._mode.every]
            leaves, finds = storage()
            await self._all(chosen)
            await self._all(leaves, left=self._ground.texts["left"])
            await self._all(finds)
        return self.verdict

    async def _all(self, chosen: Sequence[Attempt], **more: str) -> None:
        await asyncio.gather(*(self._try(script, more) for script in scripts(chosen)))

    async def _try(self, script: Script, more: dict[str, str]) -> None:
        last, output = await self._talk(script, more)
        result = last.get("done") if not script.attempts[0].is_alone else None
        if result is None and len(script.attempts) > 1:
            # One of them took the process down; each tries by itself.
            for attempt in script.attempts:
                await self._try(Script((attempt,)), more)
            return
        for number, attempt in enumerate(script.attempts):
            one = (
                output + json.dumps(last) if result is None else json.dumps(result.get(str(number)))
            )
            self._judge(attempt, one, more)
        if result is not None:
            self._judge(Attempt(f"printed by {script.attempts[0].name} …", ""), output, more)

    def _judge(self, attempt: Attempt, text: str, more: dict[str, str]) -> None:
        if attempt.source:
            self.verdict.tried.append(attempt.name)
        # The script that leaves something knows it, and so may print it.
        found = {name for name in self._ground.found_in(text) if name not in more}
        if self._mode.needs_no_deno and "deno" in attempt.marks:
            found.discard("reached")
        if found:
            self.verdict.leaks[attempt.name] = sorted(found)
            self.verdict.output[attempt.name] = text[:600]

    async def _talk(self, script: Script, more: dict[str, str]) -> tuple[dict[str, Any], str]:
        """Everything one process says, as one text."""
        texts: list[str] = []
        last: dict[str, Any] = {}
        source = script.source(self._names)
        room = _MORE_ROOM if script.roomy else _ROOM
        if len(script.attempts) == 1:
            # It has to come to its end, also on a busy machine.
            room = replace(room, wall_seconds=_PATIENT_SECONDS)
        async with self._sandboxes.taken(room) as process:
            await process.send(self._first(source, {**self._given, **more}, "own-run-token"))
            async for item in process:
                if not isinstance(item, Frame):
                    texts.append(item.text)
                    continue
                if "call" in item.body:
                    texts.append(json.dumps(item.body))
                    # What fetch() asks the gate for is refused there, as every address here is.
                    fetched = item.body.get("capability") == "http_fetch"
                    came = {"problem": _REFUSED} if fetched else {"value": {"ok": 1}}
                    await process.send({"answer": item.body["call"], "at": 1, **came})
                elif "mcp" in item.body:
                    texts.append(json.dumps(item.body))
                    http = {"status": 200, "headers": {}, "body": "{}"}
                    await process.send({"answer": item.body["mcp"], "at": 1, "http": http})
                else:
                    last = item.body
            ended = await process.ended()
            if process.pid is not None:
                self._pids.add(process.pid)
        if ended.reason == "wall" and len(script.attempts) == 1:
            self.verdict.untried.append(script.attempts[0].name)
        return last, "\n".join(texts)

    @asynccontextmanager
    async def _neighbour(self) -> AsyncIterator[int]:
        """Another run in the middle of its work, with a source and a token of its own."""
        texts = self._ground.texts
        source = (
            f"export default async ({{ brains }}) => {{ await brains.hold({{}}); {_kept(texts)} }}"
        )
        async with self._sandboxes.taken(ProcessLimits(wall_seconds=600)) as process:
            await process.send(self._first(source, {"run": texts["run"]}, texts["token"]))
            async for item in process:
                assert isinstance(item, Frame), item
                break
            assert process.pid is not None
            self._pids.add(process.pid)
            yield process.pid
            assert process.is_alive, "the neighbour was taken down"

    def _first(self, source: str, arguments: dict[str, Any], token: str) -> dict[str, Any]:
        return {
            "kind": "run",
            "nonce": secrets.token_hex(16),
            "js": source,
            "began": 1,
            "seed": secrets.token_hex(32),
            "env": {"BRAINS_MCP_URL": DOOR, "BRAINS_RUN_TOKEN": token},
            "names": ["x"],
            "trigger": {},
            "input": arguments,
            "run": {"id": "run"},
        }

    def pids(self) -> set[int]:
        return self._pids


def _kept(texts: dict[str, str]) -> str:
    return f"return {json.dumps(texts['source'])};"


async def run_battery(mode: Mode, worker: int) -> Verdict:
    """The whole battery behind one choice of layers; ``worker`` is the process that is attacked."""
    async with planted() as ground:
        flags = EVERYTHING if mode.open else FLAGS
        async with SandboxPool(warm=0, most=4, wanted=mode.requested, flags=flags) as sandboxes:
            battery = Battery(mode, sandboxes, ground)
            verdict = await battery.run(worker)
            folder = sandboxes.folder
        verdict.connections = dict(ground.connections)
        verdict.left = ground.left()
        verdict.left += [f"process {pid}" for pid in battery.pids() if is_running(pid)]
        if folder is not None and Path(folder).exists():  # noqa: ASYNC240  (nothing else runs)
            verdict.left.append(folder)
    return verdict
