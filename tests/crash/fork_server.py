"""The fork server: one process that has everything loaded, and forks workers from itself.

    python -m tests.crash.fork_server

A crash test starts dozens of workers; loading the product in each of them would cost more
than the test. The fork server reads one order per line, a log file and the worker's orders,
and answers ``began PID``; later it says ``ended PID CODE``. When its input ends, because
the test is over or dead, it kills what it has started.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import subprocess
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from tests.crash.worker_process import WorkerOptions, run
from tests.kit.processes import ROOT

MODULE = "tests.crash.fork_server"
PLAIN = "plain"
_LINE = 65_536


@dataclass(slots=True)
class ForkServer:
    """The test's side: starts workers and knows how they ended."""

    process: subprocess.Popen[bytes]
    _codes: dict[int, int] = field(default_factory=dict)
    _heard: bytes = b""

    @classmethod
    def open(cls, *, models: bool = True) -> ForkServer:
        """A fork server; one whose workers ask no model is there sooner."""
        return cls(
            subprocess.Popen(
                [sys.executable, "-m", MODULE, *([] if models else [PLAIN])],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        )

    def start(self, orders: WorkerOptions, log: Path) -> int:
        """A new worker process; answers its number."""
        assert self.process.stdin is not None
        line = json.dumps({"log": str(log), "orders": orders.as_json()})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        while not (pid := self._hear(None)):
            pass
        # The number may have belonged to a worker that is long gone.
        self._codes.pop(pid, None)
        return pid

    def exit_code(self, pid: int) -> int | None:
        """How a worker ended, or nothing while it has not."""
        while pid not in self._codes and self._hear(0) is not None:
            pass
        return self._codes.get(pid)

    def await_end(self, pid: int) -> int:
        while pid not in self._codes:
            self._hear(None)
        return self._codes[pid]

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            # It was still loading, and has started nobody.
            self.process.kill()
            self.process.wait()

    def _hear(self, seconds: float | None) -> int | None:
        """One line, if there is one in time: the number of a worker that began, else 0."""
        assert self.process.stdout is not None
        while b"\n" not in self._heard:
            if not select.select([self.process.stdout], [], [], seconds)[0]:
                return None
            piece = os.read(self.process.stdout.fileno(), _LINE)
            assert piece, "the fork server has died"
            self._heard += piece
        line, _, self._heard = self._heard.partition(b"\n")
        word, pid, *code = line.decode().split()
        if word == "began":
            return int(pid)
        self._codes[int(pid)] = int(code[0])
        return 0


def serve(*, models: bool) -> None:
    """The fork server's side."""
    if models:
        # Each worker that asks a model would load these again, for longer than it then lives.
        importlib.import_module("mainspring.outbound.models.sdk")
    noticed, notice = os.pipe()
    os.set_blocking(notice, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(notice)
    # Workers read from one end; nobody but the fork server keeps the other end open.
    living, life = os.pipe()
    children: set[int] = set()
    while True:
        ready, _, _ = select.select([0, noticed], [], [])
        if noticed in ready:
            os.read(noticed, _LINE)
            _bury(children)
        if 0 in ready:
            line = os.read(0, _LINE)
            if not line:
                for pid in children:
                    os.kill(pid, signal.SIGKILL)
                return
            pid = os.fork()
            if pid == 0:
                for end in (noticed, notice, life):
                    os.close(end)
                _become_worker(json.loads(line), living)
            children.add(pid)
            _say(f"began {pid}")


def _bury(children: set[int]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        children.discard(pid)
        _say(f"ended {pid} {os.waitstatus_to_exitcode(status)}")


def _say(line: str) -> None:
    os.write(1, line.encode() + b"\n")


def _become_worker(order: dict[str, str], living: int) -> NoReturn:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for old, new in ((living, 0), (log, 1), (log, 2)):
        os.dup2(old, new)
    code = 1
    try:
        run(WorkerOptions.from_json(order["orders"]))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(models=PLAIN not in sys.argv)
