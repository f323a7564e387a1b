"""Processes of a peer: started, spoken to, counted and always ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from bench.peers.installs import Unavailable, one_line
from bench.server import family

START_SECONDS: Final = 180.0
WORK_SECONDS: Final = 180.0
_TICKS: Final = os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.socket() as accepted:
        accepted.bind(("127.0.0.1", 0))
        port: int = accepted.getsockname()[1]
    return port


def cpu_seconds(roots: Iterable[int]) -> float:
    """Processor time of these processes and all that came from them, the ended ones too."""
    return sum(_cpu(one) for root in roots for one in family(root)) / _TICKS


def _cpu(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    fields = text.rpartition(")")[2].split()
    # User and system time of its own, then of the children it has waited for.
    return sum(int(field) for field in fields[11:15])


class Started:
    """A process of a peer, with what it has said so far in a file."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self.process = process
        self._log = log

    @property
    def pid(self) -> int:
        return self.process.pid

    def output(self) -> str:
        return self._log.read_text(errors="replace")[-20_000:]

    def check(self) -> None:
        if self.process.poll() is not None:
            raise Unavailable(f"ended at once: {one_line(self.output())}")

    def wait_for_port(self, port: int) -> None:
        """Until something listens there."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            self.check()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.1)
        raise Unavailable(f"not ready within {START_SECONDS:.0f} s: {one_line(self.output())}")

    def hear(self, seconds: float = WORK_SECONDS) -> dict[str, Any]:
        """The next answer, which is a line that begins with @."""
        assert self.process.stdout is not None
        # A reader of a pipe has no timeout; a late process is ended and then prints nothing more.
        watch = threading.Timer(seconds, self.process.kill)
        watch.start()
        try:
            for line in self.process.stdout:
                if line.startswith("@"):
                    found: dict[str, Any] = json.loads(line[1:])
                    return found
        finally:
            watch.cancel()
        raise Unavailable(f"no answer: {one_line(self.output())}")

    def ask(self, **order: Any) -> dict[str, Any]:
        """One order, and its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return self.hear()


@contextmanager
def started(
    words: Sequence[str | Path], folder: Path, environment: Mapping[str, str], *, spoken: bool
) -> Iterator[Started]:
    """A process from its start to its end; one that is spoken to has pipes."""
    handle, name = tempfile.mkstemp(prefix="said-", dir=folder)
    with os.fdopen(handle, "w") as log:
        out: IO[str] | int = subprocess.PIPE if spoken else log
        process = subprocess.Popen(
            [str(word) for word in words],
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE if spoken else subprocess.DEVNULL,
            stdout=out,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    try:
        yield Started(process, Path(name))
    finally:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Asks it to go; what is left after that is ended by its number."""
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(15)
    # Its children may have outlived it; the session that it began is theirs alone.
    for pid in [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if pid != process.pid and os.getsid(pid) == process.pid:
                os.kill(pid, signal.SIGKILL)
    if process.poll() is None:
        process.kill()
        process.wait(10)
    if process.stdout is not None:
        process.stdout.close()
