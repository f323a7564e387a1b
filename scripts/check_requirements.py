"""Does each test that a requirement names fail when the code behind it is changed?

    python -m scripts.check_requirements                          every requirement: takes hours
    python -m scripts.check_requirements --sample 5% --seed HASH  a sample, the same for a seed
    python -m scripts.check_requirements I-134 A-056              these alone

Each named test is run once with tracing, to find the lines of the product that it executes. Then it
is run against mutants of those lines (``scripts/mutation/operators.py``), those first that few of
the sampled tests execute, until one makes it fail. A test that notices none of them holds nothing:
it is reported, and the exit code is 1. Requirements whose tests use a changed module come first.

A test that starts the product as another process executes nothing here, so it cannot be judged
this way; such tests are listed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from scripts.mutate import changed_files
from scripts.mutation.operators import Mutant, mutants
from scripts.requirement_rows import Requirement, read_areas
from scripts.requirement_trace import VARIABLE

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCE: Final = ROOT / "src"
# How many mutants a test may overlook before it is reported.
MOST_MUTANTS: Final = 12
# Of one function at most so many: a test may be about another one.
_MOST_OF_ONE: Final = 3
_MOST_SECONDS: Final = 300.0
# These start the product as other processes.
_ELSEWHERE: Final = ("tests/acceptance/", "tests/browser/", "tests/crash/")
_IMPORT: Final = re.compile(r"(?m)^from (mainspring[\w.]*) import")
# A function without a result makes the next line fail, so nearly every test notices it.
_CRUDE: Final = "→ return None"


@dataclass(frozen=True, slots=True)
class Executed:
    """What a test executes of one file of the product."""

    path: Path
    lines: frozenset[int]
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Trace:
    """A test that passes, what it executes, and how long it takes."""

    test: str
    seconds: float
    executed: tuple[Executed, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A mutant of a file of the product."""

    path: Path
    mutant: Mutant

    @property
    def place(self) -> tuple[Path, str]:
        """The function or the value that is changed."""
        return self.path, self.mutant.name.partition(": ")[0]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one test: ``holds``, ``notices nothing``, ``fails`` or ``elsewhere``."""

    test: str
    outcome: str
    detail: str = ""


def sampled(
    rows: Sequence[Requirement], share: float, seed: str, changed: Iterable[Path]
) -> list[Requirement]:
    """A share of the rows, in an order that the seed decides; those of changed modules first."""
    modules = {".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in changed}

    def order(row: Requirement) -> tuple[bool, str]:
        used = any(imported_by(test) & modules for test in row.tests)
        return not used, hashlib.sha256(f"{seed} {row.number}".encode()).hexdigest()

    return sorted(rows, key=order)[: max(1, round(len(rows) * share))]


@cache
def imported_by(test: str) -> frozenset[str]:
    """The modules of the product that the file of a test imports."""
    path = ROOT / test.partition("::")[0]
    return frozenset(_IMPORT.findall(path.read_text(encoding="utf-8")))


def trace(test: str) -> Trace | Verdict:
    """Runs a test once as it is; it has to pass."""
    if test.startswith(_ELSEWHERE):
        return Verdict(test, "elsewhere")
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "trace.json"
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "scripts.requirement_trace", test],
            cwd=ROOT, env={**os.environ, VARIABLE: str(found)}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if done.returncode != 0:
            return Verdict(test, "fails", done.stdout.strip().rpartition("\n")[2])
        seconds = time.monotonic() - began
        functions = json.loads(found.read_text(encoding="utf-8"))
    executed = tuple(
        Executed(Path(one["file"]), frozenset(one["lines"]), frozenset(one["names"]))
        for one in functions
    )
    return Trace(test, seconds, executed) if executed else Verdict(test, "elsewhere")


@cache
def changes_of(path: Path) -> tuple[Change, ...]:
    return tuple(Change(path, mutant) for mutant in mutants(path.read_text(encoding="utf-8")))


def changes_for(executed: Iterable[Executed]) -> Iterator[Change]:
    """The mutants of executed lines, and of the queries and other values that these use."""
    by_file: dict[Path, tuple[set[int], set[str]]] = {}
    for one in executed:
        lines, names = by_file.setdefault(one.path, (set(), set()))
        lines |= one.lines
        names |= one.names
    for path, (lines, names) in by_file.items():
        for change in changes_of(path):
            if change.mutant.line in lines or change.place[1] in names:
                yield change


def chosen(found: Iterable[Change], common: Mapping[tuple[Path, str], int], seed: str
) -> list[Change]:  # fmt: skip
    """The mutants that are tried: of places that few tests execute, and not all of one place.

    Those that remove a whole result come last.
    """

    def order(change: Change) -> tuple[bool, int, str]:
        name = f"{seed} {change.path.relative_to(ROOT)} {change.mutant.name}"
        is_crude = _CRUDE in change.mutant.name
        return is_crude, common[change.place], hashlib.sha256(name.encode()).hexdigest()

    taken: list[Change] = []
    places: Counter[tuple[Path, str]] = Counter()
    for change in sorted(found, key=order):
        places[change.place] += 1
        if places[change.place] <= _MOST_OF_ONE:
            taken.append(change)
    return taken[:MOST_MUTANTS]


class Worker:
    """The process that runs tests against mutants."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def notices(self, traced: Trace, change: Change) -> bool:
        """Whether the test fails with the change."""
        module = change.path.relative_to(SOURCE).with_suffix("")
        parts = module.parts[:-1] if module.name == "__init__" else module.parts
        task = {
            "module": ".".join(parts), "path": str(change.path), "source": change.mutant.source,
            "tests": [traced.test], "seconds": min(_MOST_SECONDS, 20 + 5 * traced.seconds),
        }  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return bool(answer["outcome"] != "survived")


@contextmanager
def worker() -> Iterator[Worker]:
    process = subprocess.Popen(
        [sys.executable, "-m", "scripts.mutation.worker"],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield Worker(process)
    finally:
        process.communicate()


def judge(at_work: Worker, traced: Trace, changes: Sequence[Change]) -> Verdict:
    """Tries mutants until the test fails."""
    for number, change in enumerate(changes, 1):
        if at_work.notices(traced, change):
            detail = f"mutant {number}: {change.path.relative_to(ROOT)}: {change.mutant.name}"
            return Verdict(traced.test, "holds", detail)
    tried = "; ".join(f"{one.path.relative_to(ROOT)}: {one.mutant.name}" for one in changes)
    return Verdict(
        traced.test, "notices nothing", tried or "there is no mutant of what it executes"
    )


def check(rows: Sequence[Requirement], seed: str) -> list[Verdict]:
    """One verdict for each test that the rows name."""
    verdicts: list[Verdict] = []
    traces: list[Trace] = []
    for test in dict.fromkeys(test for row in rows for test in row.tests):
        found = trace(test)
        if isinstance(found, Trace):
            traces.append(found)
        else:
            verdicts.append(found)
            print(f"{found.outcome}: {test} {found.detail}", flush=True)
    found_by = [list(changes_for(one.executed)) for one in traces]
    common = Counter(place for some in found_by for place in {one.place for one in some})
    with worker() as at_work:
        for one, some in zip(traces, found_by, strict=True):
            verdict = judge(at_work, one, chosen(some, common, seed))
            verdicts.append(verdict)
            print(f"{verdict.outcome}: {verdict.test}\n    {verdict.detail}", flush=True)
    return verdicts


def share(text: str) -> float:
    value = float(text.removesuffix("%")) / 100
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError("a share is above 0% and at most 100%")
    return value


def main(arguments: Sequence[str]) -> int:
    """0 when every test that could be judged notices a mutant."""
    reader = argparse.ArgumentParser(
        prog="python -m scripts.check_requirements", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    reader.add_argument("numbers", nargs="*", metavar="NUMBER", help="default: all of them")
    reader.add_argument("--sample", type=share, default=1.0, help="such as 5%%; default: all")
    reader.add_argument("--seed", default="", help="what chooses the sample, such as a commit")
    asked = reader.parse_args(arguments)
    rows = [row for area in read_areas() for row in area.requirements]
    if unknown := set(asked.numbers) - {row.number for row in rows}:
        sys.exit(f"No requirement has the number {', '.join(sorted(unknown))}.")
    rows = [row for row in rows if not asked.numbers or row.number in asked.numbers]
    rows = sampled(rows, asked.sample, asked.seed, changed_files())
    print(f"{len(rows)} requirements: {', '.join(row.number for row in rows)}", flush=True)
    verdicts = check(rows, asked.seed)
    bad = {one.test for one in verdicts if one.outcome in ("fails", "notices nothing")}
    for row in rows:
        for test in row.tests:
            if test in bad:
                print(f"{row.number} is not held by {test}")
    counts = Counter(one.outcome for one in verdicts)
    print(
        f"{counts['holds']} passed, {len(bad)} failed, {counts['elsewhere']} run the product as "
        "another process and were not judged"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
