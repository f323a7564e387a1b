"""The launcher: a small process that starts, monitors and ends sandbox processes.

A worker is large and multi-threaded, so it should not fork. It starts this program once, with a
minimal interpreter, and sends requests over a socket: start a process (with three streams), limit
its CPU time, end it. The launcher reports when a process has ended and what it used. When the
worker dies, so does the launcher; when the launcher dies, the kernel ends every process that it
started.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mainspring.actions.script.sandbox.confinement import (
    ChildLimits,
    PreparedConfinement,
    confine_child,
    confine_processes,
    exec_deno,
)
from mainspring.actions.script.sandbox.isolation import IsolationMode
from mainspring.actions.script.sandbox.linux import PR_SET_DUMPABLE, PR_SET_PDEATHSIG, Kernel
from mainspring.actions.script.sandbox.private_folder import remove_private_folder
from mainspring.contracts.process_priority import compute_niceness, lower_priority

MESSAGE_BYTES = 16_384
_STREAMS = 3
_LOOK_MS = 40
_LAST_LOOK_MS = 1000
_CANNOT_RUN = 126
# A script that has used this much CPU time yields to those that have just started: they get at
# least ten times its share.
_BRIEF_SECONDS = 0.2
_BEHIND = 10
_PAGE = resource.getpagesize()
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class _Child:
    name: int
    pid: int
    slot: int
    # The limits at which it is ended: bytes in memory (0 until it has work) and CPU time.
    most_bytes: int = 0
    most_ticks: int = 0
    # Above this its priority is lowered, once; 0 when that is done.
    brief_ticks: int = 0
    why: str | None = None


@dataclass(slots=True)
class _SpareChild:
    """A confined child that waits for the program to execute."""

    pid: int
    slot: int
    line: socket.socket


class Launcher:
    def __init__(self, line: socket.socket, told: dict[str, Any], kernel: Kernel) -> None:
        self._line = line
        self._told = told
        self._kernel = kernel
        self._children: dict[int, _Child] = {}
        self._by_pid: dict[int, _Child] = {}
        self._slots: list[int] = []
        self._used_slots = 0
        self._stopped = False
        self._spare: _SpareChild | None = None
        # Reading it later may be impossible: the root folder may have changed by then.
        self._processes = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        self._raised = confine_processes(
            kernel,
            IsolationMode(told["wanted"]),
            Path(told["root"]),
            told["readable"],
            told["runnable"],
        )
        self._program = os.open(told["deno"], os.O_RDONLY)

    @property
    def raised(self) -> PreparedConfinement:
        return self._raised

    def stop(self) -> None:
        """Handled by the loop, never in the middle of an operation."""
        self._stopped = True

    def is_alone(self) -> bool:
        """Whether the worker is gone: a dying one sends stop some time before it disconnects."""
        looked = select.poll()
        looked.register(self._line, 0)
        return bool(looked.poll(_LAST_LOOK_MS))

    def serve(self, ended: int) -> None:
        """Run until the worker disconnects, or until stopped."""
        self._say({"walls": self._raised.isolation.as_dict()})
        looked = select.poll()
        looked.register(self._line, select.POLLIN)
        looked.register(ended, select.POLLIN)
        while not self._stopped:
            self._keep_spare()
            watched = any(child.most_bytes for child in self._children.values())
            for number, _ in looked.poll(_LOOK_MS if watched else None):
                if number == ended:
                    self._drain(ended)
                    self._reap()
                elif not self._hear():
                    return
            if watched:
                self._watch()

    def end_all(self) -> None:
        pids = [child.pid for child in self._children.values()]
        if self._spare is not None:
            pids.append(self._spare.pid)
        for pid in pids:
            _kill(pid)
        for pid in pids:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)

    def _hear(self) -> bool:
        try:
            text, streams = _receive(self._line)
        except ConnectionError:
            return False
        if not text:
            return False
        try:
            self._obey(json.loads(text), streams)
        finally:
            for stream in streams:
                os.close(stream)
        return True

    def _obey(self, request: dict[str, Any], streams: list[int]) -> None:
        child = self._children.get(request["name"])
        if request["wish"] == "start":
            self._start(request, streams)
        elif child is None:
            return
        elif request["wish"] == "bound":
            self._bound(child, request)
        elif request["wish"] == "end":
            _kill(child.pid)

    def _start(self, request: dict[str, Any], streams: list[int]) -> None:
        """Pass the request to the spare child, which does the rest itself."""
        self._keep_spare()
        spare, self._spare = self._spare, None
        if spare is None:
            self._say({"name": request["name"], "ended": _CANNOT_RUN})
            return
        child = _Child(request["name"], spare.pid, spare.slot)
        self._children[child.name] = self._by_pid[child.pid] = child
        with spare.line, contextlib.suppress(OSError):
            # A dead child is reported like any other end.
            socket.send_fds(spare.line, [json.dumps(request).encode()], streams)
        self._say({"name": child.name, "pid": child.pid})

    def _keep_spare(self) -> None:
        """Created while no request is waiting."""
        if self._spare is not None:
            return
        slot = self._slots.pop() if self._slots else self._used_slots
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            pid = (
                self._kernel.fork_pid_namespace()
                if self._raised.isolation.namespaces
                else os.fork()
            )
        except OSError:
            ours.close()
            theirs.close()
            self._slots.append(slot)
            return
        if pid == 0:
            self._live_as_child(slot, theirs, ours)
        theirs.close()
        self._used_slots = max(self._used_slots, slot + 1)
        self._spare = _SpareChild(pid, slot, ours)

    def _live_as_child(self, slot: int, line: socket.socket, other: socket.socket) -> None:
        """Never returns, neither to the launcher nor with an exception."""
        try:
            for end in (other, self._line):
                end.close()
            os.close(self._processes)
            confine_child(self._kernel, self._raised, slot)
            text, streams = _receive(line)
            if text:
                wish = json.loads(text)
                bounds = ChildLimits(wish["data"], wish["cpu"])
                command = (self._program, wish["arguments"], self._told["environment"])
                exec_deno(self._kernel, bounds, streams, command)
        except BaseException as error:
            os.write(2, f"launcher: {error}\n".encode())
        finally:
            os._exit(_CANNOT_RUN)

    def _bound(self, child: _Child, request: dict[str, Any]) -> None:
        """The work begins: from here on memory and CPU time are monitored."""
        child.most_bytes = request["memory"]
        used = self._ticks(child)
        child.most_ticks = used + round(request["cpu"] * _TICKS)
        child.brief_ticks = used + round(_BRIEF_SECONDS * _TICKS)

    def _watch(self) -> None:
        for child in self._children.values():
            if not child.most_bytes or child.why:
                continue
            pages = self._read(f"{child.pid}/statm").split()
            used = self._ticks(child)
            if len(pages) > 1 and int(pages[1]) * _PAGE > child.most_bytes:
                child.why = "memory"
            elif used > child.most_ticks:
                child.why = "cpu"
            if child.why:
                _kill(child.pid)
            elif 0 < child.brief_ticks < used:
                self._step_back(child)

    def _step_back(self, child: _Child) -> None:
        """Lower its priority; retried at the next check where the kernel refuses."""
        if lower_priority(child.pid, compute_niceness(_BEHIND), self._processes):
            child.brief_ticks = 0

    def _ticks(self, child: _Child) -> int:
        fields = self._read(f"{child.pid}/stat").rpartition(b")")[2].split()
        return int(fields[11]) + int(fields[12]) if len(fields) > 12 else 0

    def _read(self, path: str) -> bytes:
        try:
            opened = os.open(path, os.O_RDONLY, dir_fd=self._processes)
        except OSError:
            return b""
        try:
            return os.read(opened, 1024)
        except OSError:
            return b""
        finally:
            os.close(opened)

    def _reap(self) -> None:
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            child = self._by_pid.pop(pid, None)
            if child is None:
                self._forget_spare(pid)
                continue
            del self._children[child.name]
            self._slots.append(child.slot)
            # It may have left children in its process group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
            self._say(
                {
                    "name": child.name,
                    "ended": os.waitstatus_to_exitcode(status),
                    "cpu_ms": round((used.ru_utime + used.ru_stime) * 1000),
                    "peak_kb": used.ru_maxrss,
                    "why": child.why,
                }
            )

    def _forget_spare(self, pid: int) -> None:
        if self._spare is not None and self._spare.pid == pid:
            self._spare.line.close()
            self._slots.append(self._spare.slot)
            self._spare = None

    def _drain(self, ended: int) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(ended, MESSAGE_BYTES)

    def _say(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(ConnectionError):
            self._line.send(json.dumps(message).encode())


def _receive(line: socket.socket) -> tuple[bytes, list[int]]:
    """One message and its file descriptors."""
    text, files, _, _ = socket.recv_fds(line, MESSAGE_BYTES, _STREAMS, socket.MSG_CMSG_CLOEXEC)
    return text, files


def _kill(pid: int) -> None:
    """The group and the process: a new child does not lead a group yet."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def main(arguments: list[str]) -> int:
    """The file descriptor of the socket to the worker, and the options as JSON."""
    result: dict[str, Any] = json.loads(arguments[1])
    kernel = Kernel()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    kernel.control(PR_SET_PDEATHSIG, int(signal.SIGTERM))
    line = socket.socket(fileno=int(arguments[0]))
    ended, telling = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    folder = Path(result["folder"])
    above = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        launcher = Launcher(line, result, kernel)
    except OSError as error:
        line.send(json.dumps({"failed": error.strerror or str(error)}).encode())
        return 1
    # No script, under any user, can inspect this process.
    kernel.control(PR_SET_DUMPABLE, 0)
    signal.set_wakeup_fd(telling, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, lambda number, frame: launcher.stop())
    launcher.serve(ended)
    launcher.end_all()
    # A live worker starts another launcher, which needs the folder.
    if launcher.is_alone():
        remove_private_folder(folder.name, above)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
