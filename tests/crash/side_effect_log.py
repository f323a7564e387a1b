"""The ledger: what really happened outside, one line per moment, written by the workers.

A line is appended with one write to a file that every process opened for appending, so
lines of different processes never mix and a killed process leaves whole lines. The times
are those of the machine, which are the database's times too: both run here.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import UUID

Phase = Literal["begin", "end"]
Place = tuple[UUID, str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """One moment in the execution of a call."""

    key: str
    at_ns: int
    pid: int
    phase: str

    @property
    def place(self) -> Place:
        """Run, step and item, read from the key: run/step/item/call or run/step/call."""
        run, step, *rest = self.key.split("/")
        return UUID(run), step, rest[0] if len(rest) == 2 else ""

    def is_at(self, step: str) -> bool:
        return self.place[1] == step


class SideEffectLog:
    """Appends moments, in a worker, and reads them all, in the judge."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def note(self, key: str, phase: Phase) -> None:
        line = f"{key} {time.time_ns()} {os.getpid()} {phase}\n"
        os.write(self._file, line.encode())

    def entries(self) -> list[Entry]:
        found = []
        # A reader may come in the middle of a write: only whole lines count.
        whole, _, _ = self.path.read_text().rpartition("\n")
        for line in whole.splitlines():
            key, at_ns, pid, phase = line.split(" ")
            found.append(Entry(key, int(at_ns), int(pid), phase))
        return found

    def begun(self) -> list[Entry]:
        return [entry for entry in self.entries() if entry.phase == "begin"]

    def close(self) -> None:
        os.close(self._file)


def by_place(entries: Iterable[Entry]) -> dict[Place, list[Entry]]:
    """The executions of each step and item, in the order they began."""
    found: dict[Place, list[Entry]] = defaultdict(list)
    for entry in entries:
        found[entry.place].append(entry)
    return found
