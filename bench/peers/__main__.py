"""Ours against its peers, with one command and in one table.

python -m bench.peers                 everything; peers are installed into a cache folder
python -m bench.peers --only DBOS     one of them, next to ours and the floor (may be repeated)
python -m bench.peers --runs 100      at most so many runs of each
python -m bench.peers --save          kept as results.json and docs/operations/benchmarks-peers.md
python -m bench.peers --save --results A --page B      the same, kept elsewhere
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import asyncpg

from bench.peers import hooks, ours, page, queues, table
from bench.peers.contender import FLOOR, OURS, STEPS, Contender, Figure
from bench.peers.installs import Unavailable, one_line
from bench.signals import leave_in_order

# What a broken peer may raise; whatever it is, the others are measured all the same.
_TROUBLE = (
    Unavailable,
    OSError,
    AssertionError,
    ValueError,
    KeyError,
    subprocess.SubprocessError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
)


class Measurements:
    """What was measured so far, and who could not be."""

    def __init__(self, most: int | None) -> None:
        self.figures: dict[tuple[str, str, int], list[Figure]] = defaultdict(list)
        self.errors: dict[tuple[str, str], str] = {}
        self._most = most

    def take(self, one: Contender) -> None:
        """One contender, opened once, with every number of steps."""
        key = (one.way, one.name)
        if key in self.errors:
            return
        began = time.monotonic()
        try:
            with one.opened() as measure:
                for steps in STEPS:
                    runs = min(one.runs[steps], self._most or one.runs[steps])
                    self.figures[one.way, one.name, steps].append(measure(steps, runs))
        except _TROUBLE as error:
            self.errors[key] = one_line(str(error) or type(error).__name__)
        output = self.errors.get(key, "done")
        seconds = time.monotonic() - began
        print(f"  {one.way:>8}  {one.name:<16} {seconds:5.1f} s  {output}", file=sys.stderr)


def chosen(names: Sequence[str]) -> list[Contender]:
    """The contenders that were asked for, and always ours and the floor in the same way."""
    everyone = [*ours.contenders(), *queues.contenders(), *hooks.contenders()]
    if not names:
        return everyone
    words = [name.lower() for name in names]
    expected = [one for one in everyone if any(one.name.lower().startswith(word) for word in words)]
    if not expected:
        known = ", ".join(dict.fromkeys(one.name for one in everyone))
        raise SystemExit(f"There is no peer called {' or '.join(names)}. There are: {known}.")
    ways = {one.way for one in expected}
    other = [one for one in everyone if one.name in {FLOOR, OURS} and one.way in ways]
    return [*other, *(one for one in expected if one not in other)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--runs", type=int, default=None, help="at most so many runs of each")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--results", type=Path, default=page.RESULTS)
    parser.add_argument("--page", type=Path, default=page.PAGE)
    asked = parser.parse_args()
    leave_in_order()
    contenders, machine = chosen(asked.only), page.machine()
    accepted = Measurements(asked.runs)
    for number in range(asked.rounds):
        print(f"round {number + 1} of {asked.rounds}", file=sys.stderr)
        for one in contenders:
            accepted.take(one)
    found = table.rows(contenders, accepted.figures, accepted.errors)
    print(table.text(found))
    for line in table.verdicts(found):
        print(line)
    if asked.save:
        page.save(found, machine, asked.rounds, asked.results, asked.page)


if __name__ == "__main__":
    main()
