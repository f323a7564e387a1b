"""Runs the checks of the project, all of them or some, and reports each as soon as it ends.

    ./check                 everything, as CI does
    ./check quick           what contributors run in between: at most five minutes
    ./check unit browser    the named parts
    ./check --list          the parts there are

Parts that use one core run next to those that often wait. The log of each part and, for tests, a
JUnit file are kept in ``.check/``.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from scripts.test_services import NotAvailable, chromium, redis_server

ROOT: Final = Path(__file__).resolve().parent.parent
_MOST_LINES: Final = 400
# Where pytest begins to explain what went wrong.
_FAILURES: Final = re.compile(r"^=+ (FAILURES|ERRORS) =+$", re.MULTILINE)
_NICE: Final = 5


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the check: a command, and what it needs from the system."""

    name: str
    command: tuple[str, ...]
    # Runs with the others, on one core and with lower priority.
    concurrent: bool = False
    quick: bool = False
    needs: tuple[Callable[[], str], ...] = ()
    # The last line of its log is shown with how it ended.
    summary: bool = False


@dataclass(slots=True)
class Verdict:
    """How a part ended."""

    part: Part
    state: str
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    summary: str = ""

    @property
    def is_pass(self) -> bool:
        return self.state == "passed"


def _pytest(*text: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "pytest", "-q", *text)


def _module(name: str, *text: str) -> tuple[str, ...]:
    return (sys.executable, "-m", name, *text)


# Takes about 100 seconds of an idle core, a few minutes with other parts running. On a machine that
# is too slow for that it ends after nine minutes, with fewer mutants. The seed is the commit.
SAMPLE: Final = ("--sample", "60", "--seconds", "100", "--within", "540", "--processes", "1")
# The state machines in tests/property take fewer steps in a quick check; the others are the same.
_FEWER_STEPS: Final = ("env", "STATE_STEPS=10")
# A file stays with one worker, so that what its tests share is built once.
_BY_FILE: Final = ("--dist", "loadfile")

FIRST: Final = (
    Part("format", _module("ruff", "format", "--check", "."), quick=True),
    Part("lint", _module("ruff", "check", "."), quick=True),
    Part(
        "imports",
        (str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache"),
        quick=True,
    ),
    Part("reference", _module("scripts.reference", "--check")),
)
PARTS: Final = (
    Part("types", _module("mypy", "src", "tests", "scripts", "bench"), concurrent=True, quick=True),
    # Builds the documentation with mkdocs --strict, where it is not built from the same sources.
    Part("docs", _module("scripts.build_page", "--only", "docs"), concurrent=True),
    Part("page", _module("scripts.check_page"), concurrent=True),
    Part("unit", _pytest("tests/unit", "tests/property", "-n", "2"), concurrent=True, quick=True),
    Part("architecture", _pytest("tests/architecture"), concurrent=True, quick=True),
    Part("conformance", _pytest("tests/conformance", "-n", "2"), concurrent=True),
    Part("mutation", _module("scripts.mutate", *SAMPLE), concurrent=True, summary=True),
    Part(
        "integration",
        _pytest("tests/integration", "-n", "3", *_BY_FILE),
        needs=(redis_server,),
    ),
    Part("browser", _pytest("tests/browser", "-n", "3", *_BY_FILE), needs=(chromium,)),
    Part("acceptance", _pytest("tests/acceptance", "-n", "4", *_BY_FILE), needs=(redis_server,)),
    Part("crash", _pytest("tests/crash")),
    Part("chaos", _module("tests.chaos", "--size", "check", "--seed", "1")),
)
SMOKE: Final = Part(
    "smoke",
    _pytest(
        "tests/acceptance/test_examples.py",
        "tests/integration/runs/test_plan_execution.py",
        "tests/integration/surfaces/rest/test_health.py",
        "tests/integration/surfaces/mcp/test_messages.py",
        "tests/integration/surfaces/web/test_page.py",
    ),
    quick=True,
)


class Runner:
    """Runs parts and prints what becomes of them."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.verdicts: list[Verdict] = []
        self._printing = threading.Lock()

    @functools.cache  # noqa: B019
    def _packages(self) -> subprocess.Popen[bytes]:
        """Installs system packages, where that is allowed, while other parts run."""
        return subprocess.Popen(["/bin/sh", str(ROOT / "scripts" / "system_packages.sh")])

    def run_all(self, parts: Sequence[Part]) -> None:
        """One after the other; concurrent parts get a lane of their own."""
        if any(part.needs for part in parts):
            self._packages()
        other = [part for part in parts if part.concurrent]
        lane = threading.Thread(target=self._run_lane, args=(other,))
        lane.start()
        self._run_lane([part for part in parts if not part.concurrent])
        lane.join()

    def run_together(self, parts: Sequence[Part]) -> None:
        """All at once; for parts that take seconds."""
        lanes = [threading.Thread(target=self._run_lane, args=([part],)) for part in parts]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()

    def _run_lane(self, parts: Sequence[Part]) -> None:
        for part in parts:
            try:
                verdict = self._run(part)
            except Exception as error:
                # A part that cannot be run has not passed, and the parts after it still run.
                verdict = Verdict(part, f"FAILED to run: {error!r}")
            self._report(verdict)

    def _run(self, part: Part) -> Verdict:
        for need in part.needs:
            self._packages().wait()
            try:
                need()
            except NotAvailable as problem:
                return Verdict(part, f"not run: {problem}")
        since = time.monotonic()
        command = list(part.command)
        if "pytest" in command:
            command += [f"--junitxml={self._junit(part)}"]
            self._junit(part).unlink(missing_ok=True)
        if part.concurrent:
            command = ["nice", "-n", str(_NICE), *command]
        with self._log(part).open("wb") as log:
            process = subprocess.Popen(
                command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
            )
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return Verdict(
            part,
            "passed" if process.returncode == 0 else "FAILED",
            time.monotonic() - since,
            usage.ru_utime + usage.ru_stime,
            read_counts(self._junit(part)),
            self._last_line(part) if part.summary else "",
        )

    def _report(self, verdict: Verdict) -> None:
        with self._printing:
            self.verdicts.append(verdict)
            if verdict.state == "FAILED":
                print(f"\n== {verdict.part.name}: what failed\n{self._excerpt(verdict.part)}")
            print(f"-- {line_of(verdict)}", flush=True)

    def _excerpt(self, part: Part) -> str:
        """What explains a failure; all of it is in the log."""
        text = self._log(part).read_text(encoding="utf-8", errors="replace")
        begins = _FAILURES.search(text)
        lines = text[begins.start() if begins else 0 :].splitlines()
        if len(lines) > _MOST_LINES:
            left = len(lines) - _MOST_LINES
            half = _MOST_LINES // 2
            cut = f"... {left} lines left out: see {self._log(part)} ..."
            lines = [*lines[:half], cut, *lines[-half:]]
        return "\n".join(lines)

    def _last_line(self, part: Part) -> str:
        lines = self._log(part).read_text(encoding="utf-8", errors="replace").splitlines()
        return lines[-1] if lines else ""

    def _log(self, part: Part) -> Path:
        return self.results / f"{part.name}.log"

    def _junit(self, part: Part) -> Path:
        return self.results / f"{part.name}.xml"


def read_counts(junit: Path) -> dict[str, int]:
    """How many tests passed, failed and were skipped; empty for a part that has none."""
    if not junit.is_file():
        return {}
    totals = {"passed": 0, "failed": 0, "skipped": 0}
    root = ET.parse(junit).getroot()  # noqa: S314
    for suite in root.iter("testsuite"):
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped = int(suite.get("skipped", 0))
        totals["failed"] += failed
        totals["skipped"] += skipped
        totals["passed"] += int(suite.get("tests", 0)) - failed - skipped
    return totals


def line_of(verdict: Verdict) -> str:
    """One part in one line."""
    counts = ", ".join(f"{number} {name}" for name, number in verdict.counts.items() if number)
    counts = counts or verdict.summary
    tests = f"  {counts}" if counts else ""
    seconds = f"{verdict.seconds:6.0f} s  {verdict.cpu_seconds:6.0f} CPU s"
    return f"{verdict.part.name:13} {verdict.state:8} {seconds}{tests}"


def choose(names: Sequence[str]) -> tuple[list[Part], list[Part]]:
    """The parts with these names: those of seconds, and the others; all if none is named."""
    if not names:
        return list(FIRST), list(PARTS)
    if list(names) == ["quick"]:
        # The main lane has only the smoke tests here, so it takes a part from the other.
        # The reference is checked by a test of the architecture, too.
        quick = {part.name: part for part in (*PARTS, SMOKE) if part.quick}
        unit, laws = quick["unit"], quick["architecture"]
        quick["unit"] = replace(unit, command=(*_FEWER_STEPS, *unit.command))
        quick["architecture"] = replace(laws, concurrent=False)
        return [part for part in FIRST if part.quick], list(quick.values())
    known = {part.name: part for part in (*FIRST, *PARTS, SMOKE)}
    unknown = sorted(set(names) - known.keys())
    if unknown:
        raise SystemExit(
            f"There is no part called {', '.join(unknown)}. There are: quick, {', '.join(known)}."
        )
    return [], [known[name] for name in names]


def main(arguments: Sequence[str]) -> int:
    """0 when every part has passed."""
    reader = argparse.ArgumentParser(
        prog="./check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    reader.add_argument("parts", nargs="*", metavar="PART")
    reader.add_argument("--list", action="store_true", help="print the parts and end")
    reader.add_argument("--results", type=Path, default=ROOT / ".check", help=argparse.SUPPRESS)
    asked = reader.parse_args(arguments)
    if asked.list:
        print("\n".join(part.name for part in (*FIRST, *PARTS, SMOKE)))
        return 0
    first, others = choose(asked.parts)
    shutil.rmtree(asked.results, ignore_errors=True)
    asked.results.mkdir(parents=True)
    began = time.monotonic()
    runner = Runner(asked.results)
    runner.run_together(first)
    runner.run_all(others)
    return summarize(runner.verdicts, time.monotonic() - began)


def summarize(verdicts: Sequence[Verdict], seconds: float) -> int:
    """Prints all verdicts once more; the last line counts the tests."""
    print("\n== summary")
    for verdict in verdicts:
        print(line_of(verdict))
    cpu = sum(verdict.cpu_seconds for verdict in verdicts)
    bad = [verdict.part.name for verdict in verdicts if not verdict.is_pass]
    print(f"{len(verdicts)} parts, {seconds:.0f} s, {cpu:.0f} CPU s")
    print(f"check: {'FAILED: ' + ', '.join(bad) if bad else 'all parts passed'}")
    totals = [sum(one.counts.get(name, 0) for one in verdicts) for name in ("passed", "failed")]
    if any(totals):
        print(f"{totals[0]} passed, {totals[1]} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
