"""The street: a bridge, and the machines along it.

Each machine is a network namespace with one address. A program that is started on it sees that
network and no other, so what reaches another machine has travelled. A machine can be cut off or
lost whole, which no kill of a single process can show. Needs root, and ``ip``.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tests.kit.processes import ROOT

_NETWORK = "10.77.0"


def _ip(*text: str) -> None:
    subprocess.run(["ip", *text], check=True, capture_output=True, text=True)


@dataclass(slots=True)
class Machine:
    """One machine and all that runs on it."""

    name: str
    namespace: str
    address: str
    home: Path
    settings: dict[str, str] = field(default_factory=dict)
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        """Nothing of ours but where programs are; every machine has settings of its own."""
        stored = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        python = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
        return {**stored, "PYTHONPATH": python, "MAINSPRING_HOME": str(self.home), **self.settings}

    def start(self, words: Sequence[str], log: IO[str]) -> subprocess.Popen[str]:
        """A program that goes on, on this machine, in a group of its own."""
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.namespace, *words],
            env=self.environment(),
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def ask(self, words: Sequence[str], *, seconds: float = 120.0, given: str = "") -> str:
        """A program that ends; what it said. One that fails ends the story with its words."""
        done = subprocess.run(
            ["ip", "netns", "exec", self.namespace, *words],
            env=self.environment(),
            text=True,
            input=given,
            capture_output=True,
            cwd=ROOT,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, f"{self.name}: {' '.join(words)}\n{done.stdout}{done.stderr}"
        return done.stdout

    def stop(self, process: subprocess.Popen[str]) -> int:
        """In order, as an operator does; answers the exit code."""
        process.send_signal(signal.SIGTERM)
        return process.wait(90)

    def lose(self) -> None:
        """The power goes: the line is dead at once, and so is everything that ran."""
        with contextlib.suppress(subprocess.CalledProcessError):
            _ip("-n", self.namespace, "link", "set", "eth0", "down")
        self.end()

    def end(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.processes.clear()


@contextlib.contextmanager
def street(
    folder: Path, names: Sequence[str], settings: Mapping[str, str]
) -> Iterator[list[Machine]]:
    """Machines of these names, until the block ends; nothing of them is left behind."""
    mark = f"ms{os.getpid() % 100_000}"
    bridge, machines = f"{mark}br", []
    _ip("link", "add", bridge, "type", "bridge")
    try:
        _ip("link", "set", bridge, "up")
        for number, name in enumerate(names, start=1):
            machines.append(_build(folder, mark, bridge, number, name, settings))
        yield machines
    finally:
        for machine in machines:
            machine.end()
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("netns", "delete", machine.namespace)
        _ip("link", "delete", bridge)


def _build(
    folder: Path, mark: str, bridge: str, number: int, name: str, settings: Mapping[str, str]
) -> Machine:
    space, outer, inner = f"{mark}-{name}", f"{mark}v{number}", f"{mark}w{number}"
    address = f"{_NETWORK}.{number}"
    _ip("netns", "add", space)
    _ip("link", "add", outer, "type", "veth", "peer", "name", inner)
    _ip("link", "set", inner, "netns", space)
    _ip("-n", space, "link", "set", inner, "name", "eth0")
    _ip("-n", space, "address", "add", f"{address}/24", "dev", "eth0")
    for device in ("lo", "eth0"):
        _ip("-n", space, "link", "set", device, "up")
    _ip("link", "set", outer, "master", bridge)
    _ip("link", "set", outer, "up")
    home = folder / name
    home.mkdir()
    return Machine(name, space, address, home, dict(settings))
