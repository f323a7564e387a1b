"""The worker pool: worker processes that are started, killed, frozen and asked to stop."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.crash.fork_server import ForkServer
from tests.crash.worker_process import WorkerOptions

_TAIL = 2_000


@dataclass(frozen=True, slots=True)
class Kill:
    """A process and the moment it was killed."""

    pid: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """One worker process."""

    fork_server: ForkServer
    pid: int
    log: Path

    @property
    def exit_code(self) -> int | None:
        return self.fork_server.exit_code(self.pid)

    @property
    def alive(self) -> bool:
        return self.exit_code is None

    @property
    def frozen(self) -> bool:
        """Whether the kernel holds it stopped."""
        with contextlib.suppress(OSError):
            state = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
            return state == "T"
        return False

    def signal(self, which: signal.Signals) -> None:
        if self.alive:
            os.kill(self.pid, which)

    def kill(self) -> Kill:
        """SIGKILL; the moment is taken before the signal is sent."""
        at_ns = time.time_ns()
        self.signal(signal.SIGKILL)
        self.fork_server.await_end(self.pid)
        return Kill(self.pid, at_ns)


@dataclass(slots=True)
class WorkerPool:
    """All worker processes of one bench, the dead ones too."""

    fork_server: ForkServer
    options: WorkerOptions
    folder: Path
    members: list[WorkerProcess] = field(default_factory=list)

    @property
    def alive(self) -> list[WorkerProcess]:
        return [member for member in self.members if member.alive]

    def start(self, **changes: Any) -> WorkerProcess:
        """One more worker, with orders of its own where they differ."""
        log = self.folder / f"worker-{len(self.members)}.log"
        pid = self.fork_server.start(replace(self.options, **changes), log)
        member = WorkerProcess(self.fork_server, pid, log)
        self.members.append(member)
        return member

    def end(self) -> None:
        """Kills whatever is left, frozen or not."""
        for member in self.alive:
            member.kill()

    def log_tail(self) -> str:
        """The last things the workers said, for the message of a failed test."""
        output = []
        for member in self.members:
            text = member.log.read_text(errors="replace")[-_TAIL:].strip()
            if text:
                output.append(f"worker {member.pid} (exit {member.exit_code}):\n{text}")
        return "\n".join(output)
