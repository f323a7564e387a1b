"""A started server to measure: ``mainspring up`` on a folder of its own, as a person has it.

python -m bench.server     how soon it is ready, and what it holds in memory when idle
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench import results

FIRST_BAR, WARM_BAR, MEMORY_BAR = 8.0, 3.0, 200.0
IDLE_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is up: where it is, and whose processes it is made of."""

    address: str
    pid: int
    home: Path
    ready_seconds: float

    @property
    def token(self) -> str:
        return (self.home / "owner.token").read_text().strip()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """One request as the owner in their browser, who agrees to what they make."""
        headers = dict(_signed_in(self.home))
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(
            f"{self.address}/api/v1{path}",
            method=method,
            headers=headers,
            data=None if body is None else json.dumps(body).encode(),
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None


@cache
def _signed_in(home: Path) -> Mapping[str, str]:
    from tests.kit.owner_session import owner_of_now

    return owner_of_now(home)


@contextmanager
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="mainspring-bench-", dir="/tmp"))
    # The database may run as another account, which has to be able to enter.
    made.chmod(0o755)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def up(home: Path, **environment: str) -> Iterator[Server]:
    """The server, from ready to stopped."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "mainspring", "up", "--json", "--port", "0"],
        env={**os.environ, "MAINSPRING_HOME": str(home), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        output = _ready(process)
        seconds = time.perf_counter() - began
        yield Server(output["address"], process.pid, home, seconds)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _ready(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    for line in process.stdout:
        answer: dict[str, Any] = json.loads(line)
        if "address" in answer:
            return answer
    raise SystemExit("The server ended before it was ready.")


def family(pid: int) -> list[int]:
    """The process and everything that came from it."""
    found = [pid]
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and _parent(entry) == pid:
            found += family(int(entry.name))
    return found


def _parent(entry: Path) -> int:
    try:
        text = (entry / "stat").read_text()
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[1])


def memory(pid: int) -> dict[str, float]:
    """Proportional memory in MB of the server and its database, by name of the process."""
    shares: dict[str, float] = {}
    for one in family(pid):
        try:
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
            name = Path(f"/proc/{one}/comm").read_text().strip()
        except OSError:
            continue
        kb = next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        shares[name] = shares.get(name, 0.0) + kb / 1024
    return shares


def measure() -> dict[str, float]:
    """Ready on a new folder, ready on an old one, memory when nothing happens."""
    with folder() as made:
        with up(made / "home") as server:
            first = server.ready_seconds
        with up(made / "home") as server:
            warm = server.ready_seconds
            time.sleep(IDLE_SECONDS)
            held = sum(memory(server.pid).values())
    return {"first": round(first, 2), "warm": round(warm, 2), "idle MB": round(held)}


def show(found: dict[str, float]) -> None:
    print(f"ready on a new data folder   {found['first']:6.2f} s    bar {FIRST_BAR:.0f} s")
    print(f"ready on an existing one     {found['warm']:6.2f} s    bar {WARM_BAR:.0f} s")
    print(
        f"memory when idle, all of it  {found['idle MB']:6.0f} MB   bar {MEMORY_BAR:.0f} MB (PSS)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    results.add_options(parser)
    chosen = parser.parse_args()
    found = {"server": measure()}
    show(found["server"])
    results.keep(chosen, found)


if __name__ == "__main__":
    main()
