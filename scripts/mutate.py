"""Mutation testing: does a test fail when a decision that protects people is changed?

    python -m scripts.mutate                          every module in scripts/mutation/targets.toml
    python -m scripts.mutate definition.grants        one module, or several
    python -m scripts.mutate --match _HOLD            the mutants with this text in their names
    python -m scripts.mutate --sample 60 --seed HASH  a sample, the same for the same seed
    python -m scripts.mutate --sample 60 --seconds 90 a sample that is estimated to take so long
    python -m scripts.mutate --sample 60 --within 540 a sample that ends after so many seconds
    python -m scripts.mutate --report PATH            and a page about it
    python -m scripts.mutate --resume                 only mutants that are new or have new tests
    python -m scripts.mutate --again                  only what survived; after tests were added

Each mutant is one small change of one module (``scripts/mutation/operators.py``). It is killed when
one of the module's tests fails. A survivor is listed with its reason in the targets file, or it is
a finding, and the exit code is 1. A listed survivor that a test kills, or that no longer exists, is
a finding of a full run too.

A sample tries a mutant that survives again before it reports it, and takes the commit as its seed
unless another one is given. It passes whenever a full run does, whichever mutants it selects. With
``--within`` it says how many mutants a slow machine has not tried, and that is no finding. A mutant
with which tests take five times as long as without it counts as killed, and never as a finding.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import math
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from scripts.mutation.operators import Mutant, mutants

ROOT: Final = Path(__file__).resolve().parent.parent
TARGETS: Final = ROOT / "scripts" / "mutation" / "targets.toml"
RESULTS: Final = ROOT / ".cache" / "mutation"
_PROCESSES: Final = 2
_MOST_SECONDS: Final = 300.0
# How often a sample tries a mutant that survives, and tests that fail without one.
_SAMPLE_ATTEMPTS: Final = 3
# What a mutant costs besides its tests: a process that imports the product.
_START_SECONDS: Final = 0.5
# How many mutants of one module a limited sample takes, and of one that changed.
_SHARE: Final = 8
_CHANGED_SHARE: Final = 20
# The seed where there is no commit, such as in an unpacked archive.
_NO_COMMIT: Final = "mainspring"
_PAGE: Final = """\
# Mutation report

Written by `python -m scripts.mutate {arguments}`; do not edit. With
`--resume`, the results of earlier runs are kept for mutants that are the same with the same tests.
With `--again`, mutants that an earlier run killed are not tried again, although tests were added or
the module was changed in another place. A mutant with which the tests exceed their time limit
counts as killed.

A mutant is the code with one small mistake: a comparison turned round, a condition left out, a
check that is not called, a query without one of its conditions. It is killed when a test fails
because of it. The modules below make the decisions that protect people.
`scripts/mutation/targets.toml` names them, the tests that have to fail, and the reason for every
mutant that survives. The part `mutation` of `./check` tries a sample that the commit hash
selects, with the mutants of changed modules first.

{table}

## Survivors

{survivors}
"""


@dataclass(frozen=True, slots=True)
class Target:
    """A module, what it protects, its tests, and the mutants that may survive with a reason."""

    module: str
    protects: str
    tests: tuple[str, ...]
    survivors: Mapping[str, str]
    # The functions, classes and values that decide, in a module that does other things too.
    only: tuple[str, ...] = ()
    # How long the tests take on one idle core. A sample is limited by it, not by the clock.
    seconds: float = 1.0
    # False until all of its mutants were tried, so that no sample fails by chance.
    sampled: bool = True

    def mutants(self) -> list[Mutant]:
        """Every mutant of what decides."""
        found = _mutants_of(self.path.read_text(encoding="utf-8"))
        return [one for one in found if not self.only or one.place in self.only]

    def tests_hash(self) -> str:
        """Changes when the tests do."""
        parts = [(ROOT / name).read_text(encoding="utf-8") for name in self.tests]
        return _hash("\0".join(parts))

    @property
    def path(self) -> Path:
        return ROOT / "src" / "mainspring" / (self.module.replace(".", "/") + ".py")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def _mutants_of(source: str) -> tuple[Mutant, ...]:
    return tuple(mutants(source))


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one mutant."""

    target: Target
    mutant: Mutant
    outcome: str

    @property
    def survived(self) -> bool:
        return self.outcome == "survived"

    @property
    def is_finding(self) -> bool:
        # That tests take longer than expected may be due to the machine.
        is_listed = self.mutant.name in self.target.survivors
        return self.outcome != "timed out" and self.survived != is_listed


def read_targets(path: Path = TARGETS) -> list[Target]:
    """The modules that the file names."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["target"]
    return [
        Target(
            entry["module"],
            entry["protects"],
            tuple(entry["tests"]),
            entry.get("survivors", {}),
            tuple(entry.get("only", ())),
            float(entry.get("seconds", 1)),
            bool(entry.get("sampled", True)),
        )
        for entry in entries
    ]


def choose(
    targets: Iterable[Target],
    most: int,
    seed: str,
    changed: Iterable[Path],
    seconds: float = math.inf,
) -> list[tuple[Target, Mutant]]:
    """So many mutants, in an order that the seed decides; those of changed modules come first.

    A module counts as changed when one of its tests is. Listed survivors are left out, and so are
    mutants with which the estimated time would be more than ``seconds``. The tests of each module
    run once without a mutant, so a limited sample takes several mutants of few modules.
    """
    first = set(changed)

    def is_changed(target: Target) -> bool:
        return not first.isdisjoint({target.path, *(ROOT / name for name in target.tests)})

    chosen: list[tuple[Target, Mutant]] = []
    by_seed = sorted(targets, key=lambda one: (not is_changed(one), _hash(f"{seed} {one.module}")))
    for target in by_seed:
        found = [one for one in target.mutants() if one.name not in target.survivors]
        found.sort(key=lambda one: _hash(f"{seed} {one.name}"))
        share = _CHANGED_SHARE if is_changed(target) else _SHARE
        for mutant in found if seconds == math.inf else found[:share]:
            pair = (target, mutant)
            if len(chosen) < most and estimate([*chosen, pair]) <= seconds:
                chosen.append(pair)
    return chosen


def estimate(pairs: Iterable[tuple[Target, Mutant]]) -> float:
    """How many seconds mutants take on one idle core, with one run of the tests without any."""
    tried = [target for target, _ in pairs]
    used = {target.module: target for target in tried}
    return sum(one.seconds + _START_SECONDS for one in (*tried, *used.values()))


def current_commit() -> str:
    """The hash of the commit that is checked out."""
    return _git("rev-parse", "HEAD") or _NO_COMMIT


def changed_files() -> list[Path]:
    """The files changed since this branch left the main one; on that, by the last commit."""
    left = _git("merge-base", "HEAD", "origin/main")
    since = left if left and left != _git("rev-parse", "HEAD") else "HEAD~1"
    changed = _git("diff", "--name-only", since, "--", "src", "tests")
    return [ROOT / line for line in changed.splitlines()]


def _git(*text: str) -> str:
    """What git answers; nothing where it cannot, or where there is none."""
    try:
        asked = subprocess.run(
            ["git", *text],  # noqa: S607
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return asked.stdout.strip()


class Workers:
    """Processes that try mutants, each one at a time, until a deadline.

    A mutant that is being tried at the deadline has no result, and neither have those after it.
    """

    def __init__(
        self,
        pairs: Sequence[tuple[Target, Mutant]],
        *,
        processes: int = _PROCESSES,
        attempts: int = 1,
        deadline: float = math.inf,
    ) -> None:
        self._waiting = iter(pairs)
        self._processes = processes
        self._attempts = attempts
        self._deadline = deadline
        self._lock = threading.Lock()
        self.results: list[Result] = []
        # The modules whose tests fail without a mutant, and those whose tests take too long.
        self.failed: set[str] = set()
        self.slow: set[str] = set()

    def run(self) -> list[Result]:
        with ThreadPoolExecutor(self._processes) as pool:
            lanes = [pool.submit(self._lane) for _ in range(self._processes)]
        for lane in lanes:
            lane.result()
        for module in sorted(self.failed):
            print(f"The tests of {module} fail without any mutant.")
        for module in sorted(self.slow):
            print(f"The tests of {module} take too long on this machine.")
        return self.results

    def _lane(self) -> None:
        limits: dict[str, float] = {}
        with _worker() as ask:
            while (pair := self._next()) is not None:
                target, mutant = pair
                if target.module not in limits:
                    limits[target.module] = self._measure(ask, target)
                outcome = self._outcome(ask, target, mutant, limits[target.module])
                if outcome:
                    self._add(Result(target, mutant, outcome))

    def _add(self, result: Result) -> None:
        with self._lock:
            self.results.append(result)
            if result.is_finding:
                target, mutant = result.target, result.mutant
                place = f"{target.path.relative_to(ROOT)}:{mutant.line}"
                print(f"{place} {result.outcome}: {mutant.name}", flush=True)

    def _measure(self, ask: _Ask, target: Target) -> float:
        """How many seconds a mutant has; 0 when the tests do not pass on the code as it is."""
        source = target.path.read_text(encoding="utf-8")
        for _ in range(self._attempts):
            answer = self._ask(ask, _task(target, source, _MOST_SECONDS))
            if answer["outcome"] == "survived":
                return min(_MOST_SECONDS, 20 + 5 * float(answer["seconds"]))
            if answer["outcome"] != "killed":
                self.slow.add(target.module)
                return 0
        self.failed.add(target.module)
        return 0

    def _outcome(self, ask: _Ask, target: Target, mutant: Mutant, seconds: float) -> str:
        """Of the first attempt that it does not survive, or else of the last; "" without one."""
        if not seconds:
            return ""
        task = {**_task(target, mutant.make(), seconds), "place": mutant.place}
        outcomes = (str(self._ask(ask, task)["outcome"]) for _ in range(self._attempts))
        return next((one for one in outcomes if one != "survived"), "survived")

    def _ask(self, ask: _Ask, task: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a task, with no outcome when the deadline ended it."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            return {"outcome": ""}
        answer = ask({**task, "seconds": min(float(task["seconds"]), left)})
        if answer["outcome"] == "timed out" and time.monotonic() >= self._deadline:
            return {"outcome": ""}
        return answer

    def _next(self) -> tuple[Target, Mutant] | None:
        with self._lock:
            if time.monotonic() >= self._deadline:
                return None
            return next(self._waiting, None)


_Ask: TypeAlias = Callable[[Mapping[str, Any]], dict[str, Any]]


class _worker:  # noqa: N801
    """A worker process as a function from a task to its answer."""

    def __enter__(self) -> _Ask:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "scripts.mutation.worker"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self._ask

    def _ask(self, task: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("A process that tries mutants has ended; see above.")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __exit__(self, *error: object) -> None:
        self._process.communicate()


def _task(target: Target, source: str, seconds: float) -> dict[str, Any]:
    return {
        "module": f"mainspring.{target.module}",
        "path": str(target.path),
        "source": source,
        "tests": list(target.tests),
        "seconds": seconds,
    }


def lines_of(results: Sequence[Result]) -> Iterator[str]:
    """A table of the modules, and then every survivor with its reason."""
    yield "| module | protects | mutants | killed | survived | score |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    by_module: dict[str, list[Result]] = {}
    for result in results:
        by_module.setdefault(result.target.module, []).append(result)
    for module, some in sorted(by_module.items()):
        yield f"| `{module}` | {some[0].target.protects} | {_counts(some)} |"
    yield f"| all | | {_counts(results)} |"
    for module, some in sorted(by_module.items()):
        survived = sorted((one for one in some if one.survived), key=lambda one: one.mutant.line)
        if survived:
            yield ""
            yield f"### {module}"
            yield ""
        for one in survived:
            reason = one.target.survivors.get(one.mutant.name, "**No reason is listed.**")
            yield f"- Line {one.mutant.line}, `{one.mutant.name}`: {reason}"


def _counts(results: Sequence[Result]) -> str:
    survived = sum(one.survived for one in results)
    killed = len(results) - survived
    return f"{len(results)} | {killed} | {survived} | {100 * killed / max(1, len(results)):.1f} %"


def page_of(
    results: Sequence[Result], arguments: Sequence[str], left_out: Sequence[Target] = ()
) -> str:
    """The report that is committed, with the modules that it has no figures for."""
    table, *survivors = "\n".join(lines_of(results)).split("\n\n", 1)
    if left_out:
        names = ", ".join(f"`{one.module}` ({len(one.mutants())} mutants)" for one in left_out)
        table += f"\n\nNot tried since their code or their tests changed: {names}."
    shown = "\n\n".join(survivors) or "None."
    return _PAGE.format(arguments=" ".join(arguments), table=table, survivors=shown)


def _earlier(target: Target, *, killed: bool) -> list[Result]:
    """The results of earlier runs for mutants that are as they were, with the same tests.

    With ``killed``, also those of mutants that were killed: tests that are added spare none.
    """
    path = RESULTS / f"{target.module}.json"
    if not path.is_file():
        return []
    stored = json.loads(path.read_text(encoding="utf-8"))
    same_tests = stored["tests"] == target.tests_hash()
    found = []
    for mutant in target.mutants():
        source, outcome = stored["outcomes"].get(mutant.name, (None, None))
        is_same = same_tests and source == _hash(mutant.make())
        if outcome is not None and (is_same or (killed and outcome != "survived")):
            found.append(Result(target, mutant, outcome))
    return found


def _keep(target: Target, tests_hash: str, results: Sequence[Result]) -> None:
    outcomes = {one.mutant.name: (_hash(one.mutant.make()), one.outcome) for one in results}
    RESULTS.mkdir(parents=True, exist_ok=True)
    stored = json.dumps({"tests": tests_hash, "outcomes": outcomes}, indent=1)
    (RESULTS / f"{target.module}.json").write_text(stored, encoding="utf-8")


def _try_all(targets: Sequence[Target], options: argparse.Namespace) -> list[Result]:
    """Every mutant of the modules, one module after the other."""
    results: list[Result] = []
    for target in targets:
        some = _earlier(target, killed=options.again) if options.resume or options.again else []
        known = {one.mutant.name for one in some}
        pairs = [(target, mutant) for mutant in target.mutants() if mutant.name not in known]
        if pairs:
            tests_hash = target.tests_hash()
            workers = Workers(pairs, processes=options.processes)
            some += workers.run()
            if workers.failed or workers.slow:
                raise SystemExit(1)
            _keep(target, tests_hash, some)
        print(f"{target.module}: {_counts(some)}", flush=True)
        results += some
    return results


def _try_some(targets: Sequence[Target], options: argparse.Namespace) -> tuple[list[Result], int]:
    """A sample, or the mutants with certain names, and how many there was no time for."""
    seed = options.seed or current_commit()
    if options.sample is not None:
        targets = [one for one in targets if one.sampled]
    pairs = choose(targets, options.sample or sys.maxsize, seed, changed_files(), options.seconds)
    pairs = [pair for pair in pairs if options.match is None or options.match in pair[1].name]
    print(f"{len(pairs)} mutants selected by {seed}; {estimate(pairs):.0f} s estimated", flush=True)
    attempts = 1 if options.sample is None else _SAMPLE_ATTEMPTS
    deadline = time.monotonic() + options.within
    workers = Workers(pairs, processes=options.processes, attempts=attempts, deadline=deadline)
    results = workers.run()
    if workers.failed:
        raise SystemExit(1)
    return results, len(pairs) - len(results)


def unknown_survivors(targets: Iterable[Target]) -> list[str]:
    """Listed survivors that are not mutants of their modules, or no longer."""
    return [
        f"{target.module}: {name}"
        for target in targets
        if target.survivors
        for name in sorted(target.survivors.keys() - {one.name for one in target.mutants()})
    ]


def _asked(arguments: Sequence[str]) -> argparse.Namespace:
    reader = argparse.ArgumentParser(
        prog="python -m scripts.mutate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    reader.add_argument("modules", nargs="*", metavar="MODULE")
    reader.add_argument("--sample", type=int, default=None, help="how many mutants; default: all")
    reader.add_argument("--seed", default="", help="what selects the sample; default: the commit")
    reader.add_argument("--seconds", type=float, default=math.inf, help="estimated for a sample")
    reader.add_argument(
        "--within", type=float, default=math.inf, help="seconds after which a sample ends"
    )
    reader.add_argument("--processes", type=int, default=_PROCESSES, help="at the same time")
    reader.add_argument("--match", default=None, help="only mutants with this in their names")
    reader.add_argument("--resume", action="store_true", help="keep results that still hold")
    reader.add_argument("--again", action="store_true", help="only what survived the last time")
    reader.add_argument("--report", type=Path, default=None, help="where the page is written")
    return reader.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """0 when every survivor has a reason."""
    asked = _asked(arguments)
    known = read_targets()
    targets = [
        one
        for one in known
        if not asked.modules
        or any(one.module == name or one.module.startswith(f"{name}.") for name in asked.modules)
    ]
    if not targets:
        raise SystemExit(f"No module in {TARGETS.name} has such a name.")
    unknown = unknown_survivors(targets)
    for line in unknown:
        print(f"Listed as a survivor, but not a mutant: {line}")
    untried = 0
    if asked.sample is None and asked.match is None:
        results = _try_all(targets, asked)
    else:
        results, untried = _try_some(targets, asked)
    print("\n".join(lines_of(results)))
    if asked.report is not None:
        left_out = [one for one in known if one not in targets]
        asked.report.write_text(page_of(results, arguments, left_out), encoding="utf-8")
    findings = sum(result.is_finding for result in results) + len(unknown)
    timed_out = sum(result.outcome == "timed out" for result in results)
    tried = f"{len(results)} mutants" + (f", {untried} not tried in time" if untried else "")
    print(f"\n{tried}, {timed_out} timed out, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
