"""Does each test that a requirement names fail when the code behind it is changed?

    python -m scripts.check_requirements                          every requirement: takes hours
    python -m scripts.check_requirements --sample 5% --seed HASH  a sample, the same for a seed
    python -m scripts.check_requirements I-134 A-056              these alone

All named tests are run once with tracing, to find the lines of the product that each executes. Then
each is run against mutants of those lines (``scripts/mutation/operators.py``), of modules that
the test imports first, and then those that few of the sampled tests execute, until one makes it
fail. A test that notices none of them holds nothing: it is reported, and the exit code is 1.
Requirements whose tests were changed, or use a changed module, come first.

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
import threading
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
MOST_MUTANTS: Final = 20
# Of one function and of one file at most so many: a test may be about another one.
_MOST_OF_ONE: Final = 3
_MOST_OF_A_FILE: Final = 5
_MOST_SECONDS: Final = 300.0
_PROCESSES: Final = 2
# These start the product as other processes.
_ELSEWHERE: Final = (
    "tests/acceptance/",
    "tests/browser/",
    "tests/crash/",
    *(
        f"tests/integration/actions/script/escape/test_{name}.py"
        for name in ("escapes", "native", "resources")
    ),
)
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
    """A test, and what it executes."""

    test: str
    executed: tuple[Executed, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A mutant of a file of the product."""

    path: Path
    mutant: Mutant

    @property
    def place(self) -> tuple[Path, str]:
        """The function or the value that is changed."""
        return self.path, self.mutant.place

    @property
    def module(self) -> str:
        return module_at(self.path)

    def source(self) -> str:
        """The changed module."""
        return self.mutant.make()

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}: {self.mutant.name}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one test: ``holds``, ``notices nothing``, ``fails`` or ``elsewhere``."""

    test: str
    outcome: str
    detail: str = ""


def module_at(path: Path) -> str:
    """The name that a file of the product is imported by."""
    module = path.relative_to(SOURCE).with_suffix("")
    return ".".join(module.parts[:-1] if module.name == "__init__" else module.parts)


def sampled(
    rows: Sequence[Requirement], share: float, seed: str, changed: Iterable[Path]
) -> list[Requirement]:
    """A share of the rows, in an order that the seed decides; those of changed files first."""
    files = set(changed)
    modules = {module_at(path) for path in files if path.is_relative_to(SOURCE)}

    def order(row: Requirement) -> tuple[bool, str]:
        used = any(
            ROOT / test.partition("::")[0] in files or imported_by(test) & modules
            for test in row.tests
        )
        return not used, hashlib.sha256(f"{seed} {row.number}".encode()).hexdigest()

    return sorted(rows, key=order)[: max(1, round(len(rows) * share))]


@cache
def imported_by(test: str) -> frozenset[str]:
    """The modules of the product that the file of a test imports."""
    path = ROOT / test.partition("::")[0]
    return frozenset(_IMPORT.findall(path.read_text(encoding="utf-8")))


def trace(tests: Sequence[str]) -> Iterator[Trace | Verdict]:
    """Runs tests as they are, in one process.

    Some fail because they are traced, such as those that measure time, so that is no verdict yet.
    """
    here = [test for test in tests if not test.startswith(_ELSEWHERE)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        path.write_text("{}", encoding="utf-8")
        words = ["-m", "pytest", "-q", "-p", "scripts.requirement_trace", *here]
        if here:
            done = subprocess.run(
                [sys.executable, *words],
                cwd=ROOT,
                env={**os.environ, VARIABLE: str(path)},
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode not in (0, 1):
                raise SystemExit(f"The tests cannot be run:\n{done.stdout}{done.stderr}")
        found = json.loads(path.read_text(encoding="utf-8"))
    for test in tests:
        # A file, a function, or the cases of a function.
        some = [found[name] for name in found if _is_of(test, name)]
        executed = tuple(
            Executed(Path(one["file"]), frozenset(one["lines"]), frozenset(one["names"]))
            for case in some
            for one in case["functions"]
        )
        if executed:
            yield Trace(test, executed)
        elif test in here and not (some and all(case["passed"] for case in some)):
            yield Verdict(test, "fails", "without any mutant")
        else:
            yield Verdict(test, "elsewhere")


def _is_of(test: str, name: str) -> bool:
    """Whether a case that pytest has run belongs to a test."""
    whole = str(ROOT / test)
    return name == whole or name.startswith((f"{whole}[", f"{whole}::"))


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


def chosen(
    test: str, found: Iterable[Change], common: Mapping[tuple[Path, str], int], seed: str
) -> list[Change]:
    """The mutants that are tried: of modules that the test imports, then of places that few tests
    execute, and not all of one place. Those that remove a whole result come last.
    """
    imported = imported_by(test)

    def order(change: Change) -> tuple[bool, bool, int, str]:
        name = f"{seed} {change}"
        is_crude = _CRUDE in change.mutant.name
        is_far = change.module not in imported
        return is_crude, is_far, common[change.place], hashlib.sha256(name.encode()).hexdigest()

    accepted: list[Change] = []
    places: Counter[tuple[Path, str]] = Counter()
    paths: Counter[Path] = Counter()
    for change in sorted(found, key=order):
        if places[change.place] < _MOST_OF_ONE and paths[change.path] < _MOST_OF_A_FILE:
            places[change.place] += 1
            paths[change.path] += 1
            accepted.append(change)
    return accepted[:MOST_MUTANTS]


class Worker:
    """A process that runs tests against mutants."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, test: str, path: Path, source: str, seconds: float) -> tuple[bool, float]:
        """Whether the test fails with this source of a module, and how long that takes."""
        task = {
            "module": module_at(path),
            "path": str(path),
            "source": source,
            "tests": [test],
            "seconds": seconds,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return bool(answer["outcome"] != "survived"), float(answer["seconds"])


@contextmanager
def worker() -> Iterator[Worker]:
    process = subprocess.Popen(
        [sys.executable, "-m", "scripts.mutation.worker"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Worker(process)
    finally:
        process.communicate()


def judge(at_work: Worker, test: str, changes: Sequence[Change]) -> Verdict:
    """Tries mutants until the test fails. Without a mutant, it has to pass there too."""
    if not changes:
        return Verdict(test, "notices nothing", "there is no mutant of what it executes")
    path = changes[0].path
    source = path.read_text(encoding="utf-8")
    fails, seconds = at_work.run(test, path, source, _MOST_SECONDS)
    if fails:
        return Verdict(test, "fails", "without any mutant")
    limit = min(_MOST_SECONDS, 20 + 5 * seconds)
    for number, change in enumerate(changes, 1):
        if at_work.run(test, change.path, change.source(), limit)[0]:
            detail = f"mutant {number}: {change}"
            return Verdict(test, "holds", detail)
    tried = "\n    ".join(map(str, changes))
    return Verdict(test, "notices nothing", tried)


def check(rows: Sequence[Requirement], seed: str) -> list[Verdict]:
    """One verdict for each test that the rows name."""
    tests = list(dict.fromkeys(test for row in rows for test in row.tests))
    found = list(trace(tests))
    verdicts = [one for one in found if isinstance(one, Verdict)]
    for verdict in verdicts:
        print(f"{verdict.outcome}: {verdict.test} {verdict.detail}", flush=True)
    traces = [one for one in found if isinstance(one, Trace)]
    found_by = [list(changes_for(one.executed)) for one in traces]
    common = Counter(place for some in found_by for place in {one.place for one in some})
    waiting = iter(
        [
            (one.test, chosen(one.test, some, common, seed))
            for one, some in zip(traces, found_by, strict=True)
        ]
    )
    lock = threading.Lock()

    def lane() -> None:
        with worker() as at_work:
            while True:
                with lock:
                    pair = next(waiting, None)
                if pair is None:
                    return
                verdict = judge(at_work, *pair)
                with lock:
                    verdicts.append(verdict)
                    print(f"{verdict.outcome}: {verdict.test}\n    {verdict.detail}", flush=True)

    lanes = [threading.Thread(target=lane) for _ in range(min(_PROCESSES, len(traces)))]
    for one in lanes:
        one.start()
    for one in lanes:
        one.join()
    if len(verdicts) != len(tests):
        raise SystemExit("A process that tries mutants has ended; see above.")
    return verdicts


def share(text: str) -> float:
    value = float(text.removesuffix("%")) / 100
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError("a share is above 0% and at most 100%")
    return value


def main(arguments: Sequence[str]) -> int:
    """0 when every test that could be judged notices a mutant."""
    reader = argparse.ArgumentParser(
        prog="python -m scripts.check_requirements",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
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
