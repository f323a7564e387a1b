"""Feeds every parser of outside bytes what nobody would send, and looks at what comes out.

    python -m scripts.fuzz_parsers                     5 seconds for each
    python -m scripts.fuzz_parsers --seconds 60 --seed 7
    python -m scripts.fuzz_parsers --target template   one of them; more than once
    python -m scripts.fuzz_parsers --target JSON --guided 60   by coverage, with atheris

A parser answers a value or a problem. Any other exception is a finding, and so is an answer
that takes a second of processor time. Exit code 1 means that there were findings.
"""

from __future__ import annotations

import argparse
import importlib
import random
import resource
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from scripts.fuzz.mutate import mutated
from scripts.fuzz.sections import table, taken_on, write_section
from scripts.fuzz.target import SAYS, Target
from scripts.fuzz.targets import targets

# Under load, a thread is charged for what others do to its caches: the bound is wide.
SLOW_SECONDS: Final = 1.0
_SHOWN: Final = 400
_CORPUS: Final = 300
_SECTION: Final = "parsers"


@dataclass(slots=True)
class Explored:
    """What came of one target."""

    name: str
    executions: int = 0
    answered: int = 0
    slowest: float = 0.0
    grown_mb: float = 0.0
    # By where it happened: one input that shows it.
    findings: dict[str, bytes] = field(default_factory=dict)


def explore(target: Target, *, seed: int, seconds: float = 0.0, most: int = 0) -> Explored:
    """Runs a target until the seconds are over, or ``most`` times."""
    found, dice = Explored(target.name), random.Random(seed)
    corpus, until = list(target.seeds), time.monotonic() + seconds
    before = _memory_mb()
    while found.executions < most if most else time.monotonic() < until:
        first = found.executions < len(target.seeds)
        data = target.seeds[found.executions] if first else mutated(dice, corpus, target.tokens)
        if _execute(target, data, found) and len(corpus) < _CORPUS and len(data) < 20_000:
            # What was understood is worth changing further.
            corpus.append(data)
    found.grown_mb = _memory_mb() - before
    return found


def _execute(target: Target, data: bytes, found: Explored) -> bool:
    """One input; whether it was understood."""
    found.executions += 1
    began, understood = time.process_time(), False
    try:
        target.run(data)
        understood = True
    except SAYS:
        pass
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}"
        found.findings.setdefault(where, data)
    took = time.process_time() - began
    found.answered += understood
    found.slowest = max(found.slowest, took)
    if took > SLOW_SECONDS:
        found.findings.setdefault("slow", data)
    return understood


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def said(explored: Sequence[Explored], seed: int, seconds: float) -> str:
    """The numbers as a part of the page."""
    head = ("Parser", "Executions", "Understood", "Findings", "Slowest (CPU ms)", "Memory (MB)")
    rows = [
        (
            one.name,
            f"{one.executions:,}",
            f"{one.answered:,}",
            len(one.findings),
            f"{one.slowest * 1000:.0f}",
            f"+{one.grown_mb:.0f}",
        )
        for one in explored
    ]
    return f"{taken_on()} Seed {seed}, {seconds:g} seconds each.\n\n{table(head, rows)}"


def _guided(target: Target, seconds: int) -> None:
    """The same target by coverage; the library keeps its own corpus and ends the process."""
    try:
        atheris: Any = importlib.import_module("atheris")
    except ImportError:
        sys.exit("atheris is not installed: pip install 'atheris>=3' into the environment.")

    def one(data: bytes) -> None:
        try:
            target.run(data)
        except SAYS:
            return

    atheris.instrument_all()
    atheris.Setup([sys.argv[0], f"-max_total_time={seconds}"], one)
    atheris.Fuzz()


def _asked(names: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fuzz the parsers.")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each parser")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", action="append", choices=names, help="more than once")
    parser.add_argument("--guided", type=int, default=None, metavar="SECONDS", help="by coverage")
    parser.add_argument("--report", type=Path, default=None, help="a page to write into")
    return parser.parse_args()


def main() -> None:
    every = targets()
    asked = _asked([one.name for one in every])
    chosen = [one for one in every if asked.target is None or one.name in asked.target]
    if asked.guided is not None:
        _guided(chosen[0], asked.guided)
        return
    explored = []
    for target in chosen:
        one = explore(target, seed=asked.seed, seconds=asked.seconds)
        explored.append(one)
        print(
            f"{one.name:20} {one.executions:>9,} executions, {one.answered:>9,} understood, "
            f"slowest {one.slowest * 1000:5.0f} ms, +{one.grown_mb:.0f} MB, "
            f"{len(one.findings)} findings",
            flush=True,
        )
        for where, data in one.findings.items():
            print(f"    {where}: {data[:_SHOWN]!r}", flush=True)
    if asked.report is not None:
        write_section(asked.report, _SECTION, said(explored, asked.seed, asked.seconds))
    sys.exit(1 if any(one.findings for one in explored) else 0)


if __name__ == "__main__":
    main()
