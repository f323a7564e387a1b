"""The worker's connection to its launcher.

One launcher serves all scripts of a worker. When it dies, the kernel ends its processes, each of
their observers is notified here, and the next request starts another launcher.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import orjson

import mainspring
from mainspring.actions.script.sandbox.deno_paths import DenoPaths
from mainspring.actions.script.sandbox.isolation import Isolation, IsolationMode
from mainspring.actions.script.sandbox.launcher import MESSAGE_BYTES
from mainspring.contracts.errors import InternalError

_PROGRAM = (
    "import sys; sys.path.append(sys.argv.pop(1)); "
    "from mainspring.actions.script.sandbox.launcher import main; sys.exit(main(sys.argv[1:]))"
)
_SOURCE = str(Path(mainspring.__file__).parents[1])
_SECONDS_TO_START = 20.0
_SECONDS_TO_END = 10.0


class ProcessObserver(Protocol):
    """Receives the messages about one process."""

    def heard(self, message: Mapping[str, Any]) -> None: ...


class LauncherClient:
    def __init__(
        self, place: DenoPaths, wanted: IsolationMode, environment: Mapping[str, str]
    ) -> None:
        self._told = {
            **{
                key: value
                for key, value in asdict(place).items()
                if key not in {"bootstrap", "lock"}
            },
            "wanted": wanted.value,
            "environment": dict(environment),
        }
        self._line: socket.socket | None = None
        self._launcher: subprocess.Popen[bytes] | None = None
        self._isolation: asyncio.Future[Isolation] | None = None
        self._opening = asyncio.Lock()
        self._watched: dict[int, ProcessObserver] = {}
        self._names = 0
        self._closed = False

    @property
    def pid(self) -> int | None:
        return self._launcher.pid if self._launcher is not None else None

    async def read_isolation(self) -> Isolation:
        """The isolation in force, as reported by the launcher; starts one if there is none."""
        async with self._opening:
            if self._line is None:
                await self._open()
        assert self._isolation is not None
        return await asyncio.shield(self._isolation)

    async def start(
        self,
        watched: ProcessObserver,
        arguments: list[str],
        streams: list[int],
        data: int,
        cpu: int,
    ) -> int:
        """Request a process; returns its id. Its end is reported in any case."""
        await self.read_isolation()
        self._names += 1
        self._watched[self._names] = watched
        wish = {
            "wish": "start",
            "name": self._names,
            "arguments": arguments,
            "data": data,
            "cpu": cpu,
        }
        if not self._say(wish, streams):
            self._watched.pop(self._names).heard({"ended": -1})
        return self._names

    def bound(self, name: int, memory: int, cpu: int) -> None:
        self._say({"wish": "bound", "name": name, "memory": memory, "cpu": cpu})

    def end(self, name: int) -> None:
        self._say({"wish": "end", "name": name})

    async def close(self) -> None:
        self._closed = True
        self._hang_up()
        if self._launcher is not None:
            await asyncio.to_thread(self._await_end, self._launcher)

    async def _open(self) -> None:
        if self._closed:
            raise InternalError("The sandbox is closed.", code="sandbox_closed")
        if self._launcher is not None:
            await asyncio.to_thread(self._await_end, self._launcher)
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        with theirs:
            try:
                self._launcher = self._spawn(theirs.fileno())
            except OSError as error:
                ours.close()
                raise InternalError(
                    f"The launcher of scripts cannot be started: {error.strerror}.",
                    code="no_launcher",
                ) from None
        self._isolation = loop.create_future()
        self._line = ours
        loop.add_reader(ours, self._hear)
        try:
            async with asyncio.timeout(_SECONDS_TO_START):
                await asyncio.shield(self._isolation)
        except TimeoutError:
            self._hang_up()
            raise InternalError(
                "The launcher of scripts did not start.", code="no_launcher"
            ) from None

    def _spawn(self, line: int) -> subprocess.Popen[bytes]:
        """Call it from the thread of the event loop, which lives as long as the worker does."""
        told = orjson.dumps(self._told).decode()
        return subprocess.Popen(  # noqa: S603  (our own program)
            [sys.executable, "-I", "-S", "-c", _PROGRAM, _SOURCE, str(line), told],
            stdin=subprocess.DEVNULL,
            pass_fds=(line,),
            env={},
            cwd="/",
            # A signal to the worker's process group must leave the launcher time to clean up.
            start_new_session=True,
        )

    def _await_end(self, launcher: subprocess.Popen[bytes]) -> None:
        try:
            launcher.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            launcher.kill()
            launcher.wait()

    def _say(self, request: Mapping[str, Any], streams: list[int] | None = None) -> bool:
        if self._line is None:
            return False
        try:
            # A full socket means that the launcher hangs; it is treated like a dead one.
            socket.send_fds(self._line, [orjson.dumps(request)], streams or [])
        except OSError:
            self._hang_up()
            return False
        return True

    def _hear(self) -> None:
        while self._line is not None:
            try:
                text = self._line.recv(MESSAGE_BYTES)
            except BlockingIOError:
                return
            except OSError:
                text = b""
            if not text:
                self._hang_up()
                return
            self._told_by_launcher(orjson.loads(text))

    def _told_by_launcher(self, message: dict[str, Any]) -> None:
        if "name" in message:
            name = message["name"]
            watched = (
                self._watched.pop(name, None) if "ended" in message else self._watched.get(name)
            )
            if watched is not None:
                watched.heard(message)
        elif self._isolation is not None and not self._isolation.done():
            if "walls" in message:
                self._isolation.set_result(Isolation.from_dict(message["walls"]))
            else:
                self._fail(f"The sandbox could not be made: {message['failed']}.")

    def _hang_up(self) -> None:
        """Notify the observers of all processes that they have ended."""
        if self._line is None:
            return
        line, self._line = self._line, None
        with contextlib.suppress(OSError, ValueError):
            asyncio.get_running_loop().remove_reader(line)
        line.close()
        self._fail("The launcher of scripts ended before it was ready.")
        watched, self._watched = self._watched, {}
        for one in watched.values():
            one.heard({"ended": -1})

    def _fail(self, sentence: str) -> None:
        if self._isolation is not None and not self._isolation.done():
            self._isolation.set_exception(InternalError(sentence, code="no_launcher"))


def open_pipe_pair(*, reads: bool) -> tuple[int, int]:
    """(ours, theirs); ours is non-blocking. ``reads`` when ours is the read end."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    ours, theirs = (reading, writing) if reads else (writing, reading)
    os.set_blocking(ours, False)
    return ours, theirs
