"""The process pool for scripts, with some processes started in advance.

A process serves exactly one script and is then ended, so that one script can leave nothing for the
next. Starts are fast because idle processes are kept ready.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from mainspring.actions.script.sandbox.caps import ProcessLimits
from mainspring.actions.script.sandbox.deno_paths import DenoPaths, make_private_folder
from mainspring.actions.script.sandbox.isolation import Isolation, IsolationMode
from mainspring.actions.script.sandbox.launcher_client import LauncherClient
from mainspring.actions.script.sandbox.process import SandboxProcess
from mainspring.contracts.errors import InternalError, LimitExceeded, NotFound

_PER_CORE = 4
# Processes that wait for other scripts, in addition to those with a slot.
_MOST_RESTING = 64
_CPU_SECONDS_AT_MOST = 3600
_PAGE = os.sysconf("SC_PAGE_SIZE")
# A script that has just started has priority.
_SECONDS_BEFORE_REFILL = 0.03
# No permission of any kind. Other flags are only for testing individual isolation layers.
FLAGS = (
    "--no-prompt",
    "--no-config",
    "--no-lock",
    "--no-npm",
    "--no-remote",
    "--cached-only",
    "--no-code-cache",
    "--deny-read",
    "--deny-write",
    "--deny-net",
    "--deny-import",
    "--deny-env",
    "--deny-run",
    "--deny-ffi",
    "--deny-sys",
)
_ENVIRONMENT = {
    "NO_COLOR": "1",
    "DENO_NO_UPDATE_CHECK": "1",
    "DENO_NO_PACKAGE_JSON": "1",
    # The same locale and time zone on every machine.
    "TZ": "UTC",
    "LANG": "C.UTF-8",
}


class SandboxPool:
    """Provides one fresh process at a time; ``async with`` opens and closes the pool."""

    def __init__(
        self,
        *,
        warm: int = 2,
        most: int | None = None,
        wanted: IsolationMode = IsolationMode.AUTO,
        caps: ProcessLimits | None = None,
        deno: Path | None = None,
        beside: Path | None = None,
        flags: Sequence[str] = FLAGS,
    ) -> None:
        self._warm = warm
        self._room = asyncio.Semaphore(most or _PER_CORE * (os.cpu_count() or 1))
        self._wanted = wanted
        self._caps = caps or ProcessLimits()
        self._deno = deno
        self._beside = beside
        self._flags = tuple(flags)
        self._place: DenoPaths | None = None
        self._link: LauncherClient | None = None
        self._idle: deque[SandboxProcess] = deque()
        self._all: set[SandboxProcess] = set()
        # Processes that wait for other scripts, each with how many calls.
        self._waits: dict[SandboxProcess, int] = {}
        # Those that have released their slot.
        self._resting: set[SandboxProcess] = set()
        self._filling: set[asyncio.Task[None]] = set()
        self._clearing: set[asyncio.Task[None]] = set()
        self._refill: asyncio.TimerHandle | None = None
        self._closed = False
        # Until it is measured, large enough that nothing fails because of it.
        self._reserved = 8 << 30

    async def __aenter__(self) -> Self:
        if sys.platform != "linux":
            raise NotFound(
                "Scripts run on Linux only: their sandbox is built from the Linux kernel.",
                code="no_sandbox",
                suggestion="Run Mainspring in a container.",
            )
        # Listing Deno's libraries starts a process.
        self._place = await asyncio.to_thread(make_private_folder, self._deno, self._beside)
        environment = {
            **_ENVIRONMENT,
            "DENO_DIR": self._place.cache,
            "HOME": self._place.cache,
        }
        self._link = LauncherClient(self._place, self._wanted, environment)
        try:
            self._reserved = await self._measure()
        except BaseException:
            await self._close()
            raise
        self._fill()
        return self

    async def _measure(self) -> int:
        """How much address space V8 reserves on this machine before the first line of a script.

        The limit on a process's memory counts it, although none of it is used.
        """
        assert self._link is not None
        await self._link.read_isolation()
        process = await self._start(self._caps, "cold")
        try:
            if not await process.ready() or process.pid is None:
                raise InternalError(
                    "Deno does not start in its sandbox.",
                    code="no_sandbox",
                    suggestion="Run mainspring doctor to see what is missing.",
                )
            pages = await asyncio.to_thread(_read_memory_use, process.pid)
        finally:
            await process.close()
            self._all.discard(process)
        resident, data = pages
        return max(0, data - resident)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._close()

    async def read_isolation(self) -> Isolation:
        assert self._link is not None
        return await self._link.read_isolation()

    @property
    def launcher_pid(self) -> int | None:
        return self._link.pid if self._link is not None else None

    @property
    def folder(self) -> str | None:
        """The private folder, while the pool is open."""
        return self._place.folder if self._place is not None else None

    def idle_pids(self) -> list[int]:
        return [process.pid for process in self._idle if process.pid is not None]

    async def settled(self) -> int:
        """Wait until the warm processes are ready; returns how many there are."""
        while self._filling:
            await asyncio.gather(*self._filling, return_exceptions=True)
        return len(self._idle)

    @contextlib.asynccontextmanager
    async def taken(self, caps: ProcessLimits | None = None) -> AsyncIterator[SandboxProcess]:
        """A process that is used once; callers wait in FIFO order."""
        caps = caps or self._caps
        await self._room.acquire()
        try:
            process = self._take_warm(caps) or await self._start(caps, "cold")
        except BaseException:
            self._room.release()
            raise
        self._refill_later()
        try:
            process.begin(caps)
            yield process
        finally:
            # Its clean-up is not waited for, but its slot stays occupied until then.
            process.kill()
            self._in_background(self._let_go(process))

    @contextlib.asynccontextmanager
    async def resting(self, process: SandboxProcess) -> AsyncIterator[None]:
        """Releases the slot of a process while it waits for another script.

        Otherwise waiting scripts would block those that they wait for. The slot is acquired again
        before the last result is delivered.
        """
        if process not in self._waits and len(self._waits) >= _MOST_RESTING:
            raise LimitExceeded(
                f"{_MOST_RESTING} scripts wait for other automations here already.",
                code="scripts_waiting",
                retry_after=5,
                suggestion="Start the other automation with publish_event, which does not wait.",
            )
        self._waits[process] = self._waits.get(process, 0) + 1
        if process not in self._resting:
            self._resting.add(process)
            self._room.release()
        try:
            yield
        finally:
            self._waits[process] -= 1
            if not self._waits[process]:
                del self._waits[process]
        if process not in self._waits and process in self._resting and process.is_alive:
            await self._return(process)

    async def _return(self, process: SandboxProcess) -> None:
        await self._room.acquire()
        if process in self._resting and process not in self._waits:
            self._resting.discard(process)
        else:
            # Meanwhile it has begun to wait again, or another result has acquired the slot.
            self._room.release()

    def _take_warm(self, caps: ProcessLimits) -> SandboxProcess | None:
        if caps.memory_mb != self._caps.memory_mb:
            # Its memory limit was set when it started.
            return None
        self._drop_dead()
        return self._idle.popleft() if self._idle else None

    def _drop_dead(self) -> None:
        """Remove idle processes that have died: killed from outside, or with their launcher."""
        for process in [process for process in self._idle if not process.is_alive]:
            self._idle.remove(process)
            self._all.discard(process)
            self._in_background(process.close())

    async def _start(self, caps: ProcessLimits, how: str) -> SandboxProcess:
        assert self._link is not None
        assert self._place is not None
        process = SandboxProcess(self._link, caps)
        self._all.add(process)
        # Half for the V8 heap: buffers and Deno itself need the rest.
        heap = f"--v8-flags=--max-old-space-size={caps.memory_mb // 2}"
        arguments = ["deno", "run", *self._flags, heap, self._place.bootstrap, how]
        data = self._reserved + caps.memory_bytes
        try:
            await process.start(arguments, data, _CPU_SECONDS_AT_MOST)
        except BaseException:
            self._all.discard(process)
            raise
        return process

    async def _let_go(self, process: SandboxProcess) -> None:
        try:
            await process.close()
        finally:
            self._all.discard(process)
            if process in self._resting:
                self._resting.discard(process)
            else:
                self._room.release()
            self._fill()

    def _in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._clearing.add(task)
        task.add_done_callback(self._clearing.discard)

    def _refill_later(self) -> None:
        if self._refill is None and self._warm and not self._closed:
            loop = asyncio.get_running_loop()
            self._refill = loop.call_later(_SECONDS_BEFORE_REFILL, self._fill)

    def _fill(self) -> None:
        if self._refill is not None:
            self._refill.cancel()
            self._refill = None
        self._drop_dead()
        while not self._closed and len(self._idle) + len(self._filling) < self._warm:
            filling = asyncio.create_task(self._warm_one())
            self._filling.add(filling)
            filling.add_done_callback(self._filling.discard)

    async def _warm_one(self) -> None:
        process = await self._start(self._caps, "warm")
        if await process.ready() and not self._closed:
            self._idle.append(process)
        else:
            await process.close()
            self._all.discard(process)

    async def _close(self) -> None:
        self._closed = True
        if self._refill is not None:
            self._refill.cancel()
        for process in list(self._all):
            process.kill()
        await asyncio.gather(*self._filling, *self._clearing, return_exceptions=True)
        for process in list(self._all):
            await process.close()
        self._all.clear()
        if self._link is not None:
            await self._link.close()
        if self._place is not None:
            await asyncio.to_thread(self._place.remove)


async def probe_isolation(mode: IsolationMode = IsolationMode.AUTO) -> Isolation:
    """The isolation that this machine supports, found by setting it up once."""
    async with SandboxPool(warm=0, wanted=mode) as sandboxes:
        return await sandboxes.read_isolation()


def _read_memory_use(pid: int) -> tuple[int, int]:
    """Resident bytes, and bytes of private writable address space."""
    fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * _PAGE, int(fields[5]) * _PAGE
