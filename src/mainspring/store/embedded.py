"""The embedded Postgres server, on the files in the data folder.

The server is a child of the process that owns the folder and ends with that process, however it
ends. It listens on a socket that only its user may open and on no network address. Readiness is
determined by connecting, never by reading a file.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Coroutine, Iterator, Mapping
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGQUIT
from types import MappingProxyType
from urllib.parse import quote

from mainspring.contracts.errors import Conflict, DeadlineExceeded, InternalError, Problem
from mainspring.store.cluster import (
    DATABASE,
    SOCKET_NAME,
    USER,
    ClusterLayout,
    clear_unfinished,
    describe_folder_error,
    is_lingering,
    locate_cluster,
    make_cluster,
    make_folders,
    make_home,
    start_problem,
)
from mainspring.store.data_folder import FolderLock, is_process_alive, refuse_unfinished
from mainspring.store.postgres_programs import (
    PostgresBinaries,
    SystemUser,
    choose_server_user,
    copy_for_user,
    find_binaries,
)
from mainspring.store.programs import spawn_program, wait_for_exit

# Clean-up after a killed server, so that the next start succeeds.

_LEFTOVER_POLL_SECONDS = 0.02
_STOP_SECONDS = 20.0
_PROCESSES = Path("/proc")


async def clear_pid_files(data: Path, socket: Path) -> None:
    """Handle the pid files of an earlier server.

    A server whose owner died is stopped, and waited for. A pid that now belongs to another process
    (or to a zombie) would make Postgres refuse to start for ever, so such a file is removed;
    Postgres detects shared memory that is still in use without it.
    """
    for file in (data / "postmaster.pid", socket / (SOCKET_NAME + ".lock")):
        pid = _read_pid(file)
        if pid is None or not is_process_alive(pid):
            continue
        if _is_server_process(pid, data):
            await _stop(pid, data)
        else:
            file.unlink(missing_ok=True)


async def _stop(pid: int, data: Path) -> None:
    for how in (signal.SIGINT, signal.SIGQUIT):
        _send_signal(pid, how)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS):
                while _is_server_process(pid, data):
                    await asyncio.sleep(_LEFTOVER_POLL_SECONDS)
                return


def end_orphans(data: Path) -> None:
    """End the child processes of a killed server that have not noticed its death.

    A busy backend may take long to check; its work cannot be committed any more, because its server
    does not exist.
    """
    for pid in _iterate_processes():
        if pid != os.getpid() and _is_server_process(pid, data):
            _send_signal(pid, signal.SIGKILL)


def _read_pid(file: Path) -> int | None:
    try:
        return int(file.read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return None


def _iterate_processes() -> Iterator[int]:
    if _PROCESSES.is_dir():
        yield from (int(entry.name) for entry in _PROCESSES.iterdir() if entry.name.isdecimal())


def _is_server_process(pid: int, data: Path) -> bool:
    """Server processes are named postgres and work in the data directory."""
    if not (_PROCESSES / "self").exists():
        return _is_started_with(pid, data)
    about = _PROCESSES / str(pid)
    try:
        named = (about / "comm").read_bytes().strip() == b"postgres"
        return named and (about / "cwd").readlink() == data.resolve()
    except OSError:
        return False


def _is_started_with(pid: int, data: Path) -> bool:
    with contextlib.suppress(OSError):
        shown = subprocess.run(  # noqa: S603  (where there is no /proc)
            ["/bin/ps", "-o", "command=", "-p", str(pid)],
            capture_output=True,
            text=True,
            check=False,
        )
        return f"-D {data}" in shown.stdout
    return False


def _send_signal(pid: int, how: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, how)


# The embedded server's settings: many small durable commits on a small machine.

_LZ4_SINCE = 15
_IO_METHODS_SINCE = 18

_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "shared_buffers": "128MB",
    # JIT compilation costs more than any of our statements takes to run.
    "jit": "off",
    # Small statements gain nothing from parallel workers, and two cores are soon busy.
    "max_parallel_workers_per_gather": "0",
    "max_logical_replication_workers": "0",
    "random_page_cost": "1.1",
    # What was acknowledged as committed is on disk.
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    # Bounds the WAL that is replayed after a crash, and so the duration of the next start.
    "checkpoint_timeout": "5min",
    "max_wal_size": "1GB",
    "checkpoint_completion_target": "0.9",
    # Queue tables have many dead rows: vacuum and analyse early.
    "autovacuum_naptime": "15s",
    "autovacuum_vacuum_scale_factor": "0.05",
    "autovacuum_analyze_scale_factor": "0.05",
    "autovacuum_vacuum_insert_scale_factor": "0.1",
    "autovacuum_max_workers": "2",
    # The log is only about the server itself. Statements and the values in their errors may be
    # sensitive and must not be kept in a file.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
    "cluster_name": "mainspring",
}


def build_server_settings(binaries: PostgresBinaries, data: Path, socket: Path) -> dict[str, str]:
    """The server settings that these programs support."""
    chosen = {**_SETTINGS, "unix_socket_directories": _quote_path(socket)}
    if binaries.major >= _IO_METHODS_SINCE:
        # The default starts three I/O workers, which our small tables do not need.
        chosen["io_method"] = "sync"
    if binaries.major >= _LZ4_SINCE and _is_setting_supported(
        binaries, data, "wal_compression", "lz4"
    ):
        chosen["wal_compression"] = "lz4"
    return chosen


def _quote_path(folder: Path) -> str:
    return '"' + str(folder).replace('"', '""') + '"'


def _is_setting_supported(binaries: PostgresBinaries, data: Path, name: str, value: str) -> bool:
    """Whether these programs were built with the feature that the value needs."""
    try:
        asked = subprocess.run(  # noqa: S603  (asks the program about a setting)
            [binaries.program("postgres"), "-C", name, "-D", data, "-c", f"{name}={value}"],
            capture_output=True,
            check=False,
            cwd="/",
        )
    except OSError:
        return False
    return asked.returncode == 0


# Crash recovery takes seconds, but a machine under load may need minutes.
_READY_SECONDS = 300.0
_LINGER_SECONDS = 30.0
_PATIENCE_WITH_ORPHANS = 2.0
_ANSWER_SECONDS = 2.0
_POLL_SECONDS = 0.01
_LOG_BYTES = 4_194_304
_STOPPING = ((SIGINT, 30.0), (SIGQUIT, 10.0), (SIGKILL, 10.0))
_NONE: Mapping[str, str] = MappingProxyType({})


class EmbeddedServer:
    """Owns the data folder and its server, from start to stop."""

    def __init__(
        self,
        home: Path,
        *,
        extra_settings: Mapping[str, str] = _NONE,
        binaries: PostgresBinaries | None = None,
        unfinished: bool = False,
    ) -> None:
        """With ``unfinished``, also on a folder that is being restored from a backup."""
        self._home = home.absolute()
        self._unfinished = unfinished
        self._extra = extra_settings
        self._binaries = binaries
        self._lock = FolderLock(self._home)
        self._process: subprocess.Popen[bytes] | None = None
        self._layout: ClusterLayout | None = None

    @property
    def dsn(self) -> str:
        """The server's DSN; known after the first start."""
        return self.dsn_for(DATABASE)

    def dsn_for(self, database: str) -> str:
        """The DSN of another database of this server."""
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
        """Whether this process holds the data folder, with or without a running server."""
        return self._lock.held

    def start(self) -> None:
        """``start_async`` for a caller without an event loop."""
        _finish(self.start_async())

    def stop(self) -> None:
        """``stop_async`` for a caller without an event loop."""
        _finish(self.stop_async())

    async def start_async(self) -> None:
        """Start or restart the server; does nothing when it is running.

        Call it in the main thread: the server is tied to the thread that starts it.
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
        """Stop the server cleanly, then by force, and release the folder."""
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
        binaries = copy_for_user(found, account, self._home)
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
        """None once the server answers; its output when it ended instead."""
        process, before = _spawn_with_log(command, layout, account)
        self._process = process
        deadline, pause = time.monotonic() + _READY_SECONDS, _POLL_SECONDS
        while process.poll() is None:
            if await is_answering(layout.socket):
                return None
            if time.monotonic() > deadline:
                raise _start_timeout_error()
            await asyncio.sleep(pause)
            # Each premature connection attempt adds a line to the log.
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
    """The DSN of a database behind a socket."""
    return f"postgresql://{USER}@/{quote(database)}?host={quote(str(socket), safe='')}&port=5432"


async def is_answering(socket: Path) -> bool:
    """Whether the server accepts connections; one that is starting up answers with an error."""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(_ANSWER_SECONDS):
            reader, writer = await asyncio.open_unix_connection(str(socket / SOCKET_NAME))
            try:
                writer.write(_HELLO)
                if await reader.read(1) != b"R":
                    return False
                # Read to the end, so that the server logs no broken connection.
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
            f"The database files were created by Postgres {major}; this is {found.major}.",
            code="other_postgres_version",
            suggestion=f"Install Postgres {major}, or set MAINSPRING_HOME to another folder.",
        )


def _spawn_with_log(
    command: list[str | Path], layout: ClusterLayout, account: SystemUser
) -> tuple[subprocess.Popen[bytes], int]:
    """The server process, and the offset in the log where its output begins."""
    with open(layout.log, "ab", opener=_open_private_file) as log:
        before = log.tell()
        return spawn_program(command, account, cwd=layout.home, output=log, feed=b""), before


def _open_private_file(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _rotate(log: Path) -> None:
    """Keep the current log and the previous one; the server's output per start is bounded."""
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size > _LOG_BYTES:
            log.rename(log.with_suffix(".log.1"))


def _start_timeout_error() -> Problem:
    return DeadlineExceeded(
        "The embedded database did not become ready in time.", code="database_start_slow"
    )
