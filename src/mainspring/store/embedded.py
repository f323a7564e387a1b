"""A Postgres server of our own, on the files in the data folder.

The server is a child of the process that owns the folder and goes when that process
goes, however it ends. It listens on a socket that only its user may open and on no
address. Its readiness is what it answers, never what a file says.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import time
from collections.abc import Coroutine, Mapping
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGQUIT
from types import MappingProxyType
from urllib.parse import quote

from mainspring.contracts.errors import Conflict, DeadlineExceeded, InternalError, Problem
from mainspring.store.account import SystemUser, choose_server_user
from mainspring.store.binaries import PostgresBinaries, copy_within_reach, find_binaries
from mainspring.store.cluster import (
    DATABASE,
    SOCKET_NAME,
    USER,
    ClusterLayout,
    clear_unfinished,
    locate_cluster,
    make_cluster,
    make_folders,
    make_home,
)
from mainspring.store.diagnosis import describe_folder_error, is_lingering, start_problem
from mainspring.store.leftovers import clear_pid_files, end_orphans
from mainspring.store.ownership import FolderLock
from mainspring.store.programs import spawn_program, wait_for_exit
from mainspring.store.setting_aside import refuse_unfinished
from mainspring.store.tuning import build_server_settings

# Replaying what a crash left over takes seconds; a machine in trouble may take minutes.
_READY_SECONDS = 300.0
_LINGER_SECONDS = 30.0
_PATIENCE_WITH_ORPHANS = 2.0
_ANSWER_SECONDS = 2.0
_POLL_SECONDS = 0.01
_LOG_BYTES = 4_194_304
_STOPPING = ((SIGINT, 30.0), (SIGQUIT, 10.0), (SIGKILL, 10.0))
_NONE: Mapping[str, str] = MappingProxyType({})


class EmbeddedServer:
    """Owns the data folder and the server on it, from start to stop."""

    def __init__(
        self,
        home: Path,
        *,
        extra_settings: Mapping[str, str] = _NONE,
        binaries: PostgresBinaries | None = None,
        unfinished: bool = False,
    ) -> None:
        """With ``unfinished``, also on a folder that is being filled from a backup."""
        self._home = home.absolute()
        self._unfinished = unfinished
        self._extra = extra_settings
        self._binaries = binaries
        self._lock = FolderLock(self._home)
        self._process: subprocess.Popen[bytes] | None = None
        self._layout: ClusterLayout | None = None

    @property
    def dsn(self) -> str:
        """Where the server is reached; known from the first start on."""
        return self.dsn_for(DATABASE)

    def dsn_for(self, database: str) -> str:
        """The same for another database of this server."""
        if self._layout is None:
            raise InternalError(
                "The embedded database was not started.", code="database_not_started"
            )
        return build_dsn(self._layout.socket, database)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self.alive() else None

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def owns(self) -> bool:
        """Whether this process holds the data folder, with or without a living server."""
        return self._lock.held

    def start(self) -> None:
        """``start_async`` for a caller that has no event loop yet."""
        _finish(self.start_async())

    def stop(self) -> None:
        """``stop_async`` for a caller that has no event loop any more."""
        _finish(self.stop_async())

    async def start_async(self) -> None:
        """Brings the server up, or up again; nothing happens when it is.

        To be called in the main thread: the server is tied to the thread that starts it.
        """
        if self.alive():
            return
        owned = self._lock.held
        try:
            await self._begin()
        except BaseException as error:
            self._abandon(keep_lock=owned)
            if isinstance(error, OSError) and not isinstance(error, TimeoutError):
                raise describe_folder_error(error, self._home) from error
            raise

    async def stop_async(self) -> None:
        """Stops the server cleanly, then by force, and gives the folder back."""
        if self._process is not None:
            await _end(self._process)
        self._process = None
        self._lock.release()

    async def _begin(self) -> None:
        if not self._unfinished:
            refuse_unfinished(self._home)
        account = choose_server_user(self._home / "postgres" / "data")
        make_home(self._home, account)
        layout = locate_cluster(self._home, account.uid)
        self._lock.take(layout.socket)
        self._layout = layout
        found = self._binaries or find_binaries(layout.major)
        _refuse_other_version(layout.major, found)
        binaries = copy_within_reach(found, account, self._home)
        make_folders(layout, account)
        clear_unfinished(layout)
        if layout.major is None:
            await make_cluster(layout, account, binaries)
        _rotate(layout.log)
        await self._launch(layout, account, binaries)

    async def _launch(
        self, layout: ClusterLayout, account: SystemUser, binaries: PostgresBinaries
    ) -> None:
        settings = {**build_server_settings(binaries, layout.data, layout.socket), **self._extra}
        command: list[str | Path] = [binaries.program("postgres"), "-D", layout.data]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        begun = time.monotonic()
        while True:
            await clear_pid_files(layout.data, layout.socket)
            said = await self._attempt(command, layout, account)
            if said is None:
                return
            waited = time.monotonic() - begun
            if not is_lingering(said) or waited > _LINGER_SECONDS:
                raise start_problem(said, layout.home, account, layout.private)
            if waited > _PATIENCE_WITH_ORPHANS:
                end_orphans(layout.data)
            await asyncio.sleep(0.05)

    async def _attempt(
        self, command: list[str | Path], layout: ClusterLayout, account: SystemUser
    ) -> str | None:
        """None once the server answers; what it said when it ended instead."""
        process, before = _spawn_with_log(command, layout, account)
        self._process = process
        deadline, pause = time.monotonic() + _READY_SECONDS, _POLL_SECONDS
        while process.poll() is None:
            if await is_answering(layout.socket):
                return None
            if time.monotonic() > deadline:
                raise _start_timeout_error()
            await asyncio.sleep(pause)
            # Each question asked too early is a line in the log.
            pause = min(pause * 1.2, 0.2)
        with layout.log.open("rb") as log:
            log.seek(before)
            return log.read().decode("utf-8", "replace")

    def _abandon(self, *, keep_lock: bool) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(SIGQUIT)
            self._process.wait(10)
        self._process = None
        if not keep_lock:
            self._lock.release()


def build_dsn(socket: Path, database: str = DATABASE) -> str:
    """The address of a database behind a socket."""
    return f"postgresql://{USER}@/{quote(database)}?host={quote(str(socket), safe='')}&port=5432"


async def is_answering(socket: Path) -> bool:
    """Whether the server lets us in; one that is still starting up answers with an error."""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(_ANSWER_SECONDS):
            reader, writer = await asyncio.open_unix_connection(str(socket / SOCKET_NAME))
            try:
                writer.write(_HELLO)
                if await reader.read(1) != b"R":
                    return False
                # Reads to the end, so that the server sees a goodbye and no broken line.
                writer.write(_GOODBYE)
                await reader.read()
                return True
            finally:
                writer.close()
    return False


_HELLO = b"\0\3\0\0user\0" + USER.encode() + b"\0database\0" + DATABASE.encode() + b"\0\0"
_HELLO = (len(_HELLO) + 4).to_bytes(4, "big") + _HELLO
_GOODBYE = b"X\0\0\0\4"


async def _end(process: subprocess.Popen[bytes]) -> None:
    for how, seconds in _STOPPING:
        if process.poll() is not None:
            return
        process.send_signal(how)
        with contextlib.suppress(TimeoutError):
            await wait_for_exit(process, seconds)


def _finish(work: Coroutine[object, object, None]) -> None:
    # A loop factory keeps the runner away from the thread's own event loop.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        runner.run(work)


def _refuse_other_version(major: int | None, found: PostgresBinaries) -> None:
    if major is not None and major != found.major:
        raise Conflict(
            f"The database files were made by Postgres {major}; this is {found.major}.",
            code="other_postgres_version",
            suggestion=f"Install Postgres {major}, or set MAINSPRING_HOME to another folder.",
        )


def _spawn_with_log(
    command: list[str | Path], layout: ClusterLayout, account: SystemUser
) -> tuple[subprocess.Popen[bytes], int]:
    """The server, and the place in the log where its own words begin."""
    with open(layout.log, "ab", opener=_open_private_file) as log:
        before = log.tell()
        return spawn_program(command, account, cwd=layout.home, output=log, feed=b""), before


def _open_private_file(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _rotate(log: Path) -> None:
    """Keeps the log and one before it; both are bounded by how much one life writes."""
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size > _LOG_BYTES:
            log.rename(log.with_suffix(".log.1"))


def _start_timeout_error() -> Problem:
    return DeadlineExceeded(
        "The embedded database did not become ready in time.", code="database_start_slow"
    )
