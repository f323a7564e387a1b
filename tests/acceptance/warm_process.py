"""Commands out of a process that has everything loaded, and forks one of them at a time.

    python -m tests.acceptance.warm_process SOCKET

Loading the product takes a command longer than most of what it is asked to do, and these
tests give hundreds of commands. This process loads it once. Each caller connects, hands over
the words, the environment, the folder and three open files, and answers the exit code. A
command whose caller leaves is killed; when the input of this process ends, all of them are.

A forked command goes the way of ``python -m mainspring`` from its words to its last line. That
the program starts on its own is shown by the tests that start it so (``Mainspring.cold``).
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_MOST = 1 << 20
_END = b"\n"


class Warm:
    """The test's side: gives a command and learns how it ended."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mainspring-warm-")
        self.address = f"{self._folder.name}/socket"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.acceptance.warm_process", self.address],
            cwd=ROOT,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def run(
        self, words: Sequence[str], environment: Mapping[str, str], stdin: bytes, seconds: float
    ) -> tuple[int, bytes, bytes]:
        """One command to its end: its code, and what it wrote to either side."""
        with (
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
            _piped(stdin) as source,
        ):
            files = (source, out.fileno(), err.fileno())
            code = self.run_on(files, words, environment, seconds)
            out.seek(0)
            err.seek(0)
            return code, out.read(), err.read()

    def run_on(
        self,
        files: tuple[int, int, int],
        words: Sequence[str],
        environment: Mapping[str, str],
        seconds: float,
    ) -> int:
        """One command to its end, on these three open files: its code."""
        order = {"words": list(words), "environment": dict(environment), "folder": os.getcwd()}
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(seconds)
            line.connect(self.address)
            socket.send_fds(line, [b"."], list(files))
            line.sendall(json.dumps(order).encode() + _END)
            answer = b""
            while not answer.endswith(_END):
                piece = line.recv(64)
                assert piece, "the warm process has died"
                answer += piece
            return int(answer)

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._process.wait(30)
        self._folder.cleanup()


@contextlib.contextmanager
def _piped(data: bytes) -> Iterator[int]:
    """The end of a pipe that this comes out of, as it does after ``|``."""
    source, sink = os.pipe()

    def write() -> None:
        # A command may end without having read all of it.
        with contextlib.suppress(BrokenPipeError), open(sink, "wb") as file:
            file.write(data)

    writing = threading.Thread(target=write, daemon=True)
    writing.start()
    try:
        yield source
    finally:
        os.close(source)
        writing.join()


def _environment() -> dict[str, str]:
    stored = {name: text for name, text in os.environ.items() if not name.startswith("MAINSPRING_")}
    paths = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    return {**stored, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"}


class _Server:
    """The warm process's side."""

    def __init__(self, address: str) -> None:
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(address)
        self.listener.listen(64)
        self.noticed, self.notice = os.pipe()
        os.set_blocking(self.notice, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.notice)
        self.callers: dict[int, socket.socket] = {}

    def serve(self) -> list[str] | None:
        """The words of a command, in the process that shall run it; nothing at the very end."""
        while True:
            watched: list[int | socket.socket] = [
                0,
                self.noticed,
                self.listener,
                *self.callers.values(),
            ]
            ready, _, _ = select.select(watched, [], [])
            if self.noticed in ready:
                os.read(self.noticed, _MOST)
                self._bury()
            for pid, caller in self.callers.items():
                if caller in ready:
                    os.kill(pid, signal.SIGKILL)
            if 0 in ready:
                for pid in self.callers:
                    os.kill(pid, signal.SIGKILL)
                return None
            if self.listener in ready:
                words = self._accept()
                if words is not None:
                    return words

    def _accept(self) -> list[str] | None:
        """Forks a command; its words in the new process, and nothing in this one."""
        caller, _ = self.listener.accept()
        order, files = _read(caller)
        pid = -1 if order is None else os.fork()
        if order is not None and pid == 0:
            self._leave(caller)
            return _become(order, files)
        for file in files:
            os.close(file)
        if order is None:
            # The client has disconnected before it said what to run.
            caller.close()
        else:
            self.callers[pid] = caller
        return None

    def _bury(self) -> None:
        while self.callers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            caller = self.callers.pop(pid)
            # The client has disconnected and does not want the answer.
            with caller, contextlib.suppress(OSError):
                caller.sendall(str(os.waitstatus_to_exitcode(status)).encode() + _END)

    def _leave(self, caller: socket.socket) -> None:
        """Nothing of the warm process stays open in a command."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for end in (self.noticed, self.notice):
            os.close(end)
        for one in (self.listener, caller, *self.callers.values()):
            one.close()


def _read(caller: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """What to run and on which files; nothing if the caller has left."""
    _, files, _, _ = socket.recv_fds(caller, 1, 3)
    order = b""
    while not order.endswith(_END):
        piece = caller.recv(_MOST)
        if not piece:
            return None, files
        order += piece
    return json.loads(order), files


def _become(order: Mapping[str, Any], files: Sequence[int]) -> list[str]:
    for new, file in enumerate(files):
        os.dup2(file, new)
        os.close(file)
    if not all(stat.S_ISREG(os.fstat(one).st_mode) for one in (1, 2)):
        # The streams of this process were made for files, which can be sought in.
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    words: list[str] = order["words"]
    return words


def _main() -> None:
    # Here alone: the tests' side needs none of it.
    import mainspring.__main__
    import mainspring.app

    server = _Server(sys.argv[1])
    gc.freeze()
    os.write(1, b"ready\n")
    words = server.serve()
    if words is not None:
        sys.argv = [mainspring.__main__.__file__, *words]
        mainspring.__main__.main()


if __name__ == "__main__":
    _main()
