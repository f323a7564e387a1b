"""Mutation testing: does a test fail when a decision that protects people is changed?

    python -m scripts.mutate                          every module in scripts/mutation/targets.toml
    python -m scripts.mutate definition.grants        one module, or several
    python -m scripts.mutate --match _HOLD            the mutants with this text in their names
    python -m scripts.mutate --sample 60 --seed HASH  a sample, the same for the same seed
    python -m scripts.mutate --report PATH            and a page about it
    python -m scripts.mutate --resume                 only modules that changed since the last one
    python -m scripts.mutate --again                  only what survived; after tests were added

Each mutant is one small change of one module (``scripts/mutation/operators.py``). It is killed when
one of the module's tests fails. A survivor is listed with its reason in the targets file, or it is
a finding, and the exit code is 1. A listed survivor that a test kills, or that no longer exists, is
a finding of a full run too.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from scripts.mutation.operators import Mutant, mutants

ROOT: Final = Path(__file__).resolve().parent.parent
TARGETS: Final = ROOT / "scripts" / "mutation" / "targets.toml"
RESULTS: Final = ROOT / ".check" / "mutation"
_PROCESSES: Final = 2
_MOST_SECONDS: Final = 300.0
_PAGE: Final = """\
# Mutation report

Written by `python -m scripts.mutate {arguments}`; do not edit. With `--again`, mutants that an
earlier run killed were not tried again after tests were added.

A mutant is the code with one small mistake: a comparison turned round, a condition left out, a
check that is not called, a query without one of its conditions. It is killed when a test fails
because of it. The modules below make the decisions that protect people.
`scripts/mutation/targets.toml` names them, the tests that have to fail, and the reason for every
mutant that survives. `python -m scripts.mutate --sample 300 --seed COMMIT` tries a sample that the
commit hash selects, with the mutants of changed modules first.

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

    def mutants(self) -> list[Mutant]:
        """Every mutant of what decides."""
        found = _mutants_of(self.path.read_text(encoding="utf-8"))
        return [one for one in found if not self.only or one.place in self.only]

    def state(self) -> str:
        """Changes when the mutants do, or the tests."""
        parts = [one.source for one in self.mutants()]
        parts += [(ROOT / name).read_text(encoding="utf-8") for name in self.tests]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @property
    def path(self) -> Path:
        return ROOT / "src" / "mainspring" / (self.module.replace(".", "/") + ".py")


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
        return self.survived != (self.mutant.name in self.target.survivors)


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
        )
        for entry in entries
    ]


def choose(
    targets: Iterable[Target], most: int, seed: str, changed: Iterable[Path]
) -> list[tuple[Target, Mutant]]:
    """So many mutants, in an order that the seed decides; those of changed modules come first.

    A module counts as changed when one of its tests is. Listed survivors are left out.
    """
    first = set(changed)

    def order(pair: tuple[Target, Mutant]) -> tuple[bool, str]:
        target, mutant = pair
        files = {target.path, *(ROOT / name for name in target.tests)}
        name = f"{seed} {target.module} {mutant.name}"
        return files.isdisjoint(first), hashlib.sha256(name.encode()).hexdigest()

    found = [
        (target, mutant)
        for target in targets
        for mutant in target.mutants()
        if mutant.name not in target.survivors
    ]
    return sorted(found, key=order)[:most]


def changed_files() -> list[Path]:
    """The files that the last commit changed; for a merge, those of the merged branch."""
    asked = subprocess.run(
        ["git", "diff", "--name-only", "HEAD~1", "--", "src", "tests"],  # noqa: S607
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return [ROOT / line for line in asked.stdout.splitlines()]


class Workers:
    """Processes that try mutants, each one at a time."""

    def __init__(self, pairs: Sequence[tuple[Target, Mutant]], limits: Mapping[str, float]) -> None:
        self._waiting = iter(pairs)
        self._limits = limits
        self._lock = threading.Lock()
        self.results: list[Result] = []

    def run(self) -> list[Result]:
        lanes = [threading.Thread(target=self._lane) for _ in range(_PROCESSES)]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
        return self.results

    def _lane(self) -> None:
        with _worker() as ask:
            while (pair := self._next()) is not None:
                target, mutant = pair
                seconds = min(_MOST_SECONDS, 20 + 5 * self._limits[target.module])
                answer = ask(_task(target, mutant.source, seconds))
                with self._lock:
                    result = Result(target, mutant, answer["outcome"])
                    self.results.append(result)
                    if result.is_finding:
                        print(f"{target.path.relative_to(ROOT)}:{mutant.line} {result.outcome}: "
                              f"{mutant.name}", flush=True)  # fmt: skip

    def _next(self) -> tuple[Target, Mutant] | None:
        with self._lock:
            return next(self._waiting, None)


class _worker:  # noqa: N801
    """A worker process as a function from a task to its answer."""

    def __enter__(self) -> Any:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "scripts.mutation.worker"],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
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


def measure(targets: Iterable[Target]) -> dict[str, float]:
    """How long the tests of each module take; they have to pass on the code as it is."""
    found: dict[str, float] = {}
    with _worker() as ask:
        for target in targets:
            source = target.path.read_text(encoding="utf-8")
            answer = ask(_task(target, source, _MOST_SECONDS))
            if answer["outcome"] != "survived":
                raise SystemExit(f"The tests of {target.module} fail without any mutant.")
            found[target.module] = answer["seconds"]
    return found


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
    return f"{len(results)} | {killed} | {survived} | {100 * killed / len(results):.1f} %"


def page_of(results: Sequence[Result], arguments: Sequence[str]) -> str:
    """The report that is committed."""
    table, *survivors = "\n".join(lines_of(results)).split("\n\n", 1)
    shown = "\n\n".join(survivors) or "None."
    return _PAGE.format(arguments=" ".join(arguments), table=table, survivors=shown)


def _earlier(target: Target, *, killed: bool) -> list[Result]:
    """The results of the last run, unless the module or its tests have changed since.

    With ``killed``, also those of mutants that were killed: tests that are added spare none.
    """
    path = RESULTS / f"{target.module}.json"
    if not path.is_file():
        return []
    kept = json.loads(path.read_text(encoding="utf-8"))
    outcomes = kept["outcomes"]
    if kept["state"] != target.state():
        outcomes = {name: one for name, one in outcomes.items() if killed and one != "survived"}
    return [
        Result(target, one, outcomes[one.name]) for one in target.mutants() if one.name in outcomes
    ]


def _keep(target: Target, state: str, results: Sequence[Result]) -> None:
    outcomes = {one.mutant.name: one.outcome for one in results}
    RESULTS.mkdir(parents=True, exist_ok=True)
    kept = json.dumps({"state": state, "outcomes": outcomes}, indent=1)
    (RESULTS / f"{target.module}.json").write_text(kept, encoding="utf-8")


def _try_all(targets: Sequence[Target], *, resume: bool, again: bool) -> list[Result]:
    """Every mutant of the modules, one module after the other."""
    results: list[Result] = []
    for target in targets:
        some = _earlier(target, killed=again) if resume or again else []
        known = {one.mutant.name for one in some}
        pairs = [(target, mutant) for mutant in target.mutants() if mutant.name not in known]
        if pairs:
            state = target.state()
            some += Workers(pairs, measure([target])).run()
            _keep(target, state, some)
        print(f"{target.module}: {_counts(some)}", flush=True)
        results += some
    return results


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
    reader.add_argument("--seed", default="", help="what chooses the sample, such as a commit")
    reader.add_argument("--match", default=None, help="only mutants with this in their names")
    reader.add_argument("--resume", action="store_true", help="keep results of unchanged modules")
    reader.add_argument("--again", action="store_true", help="only what survived the last time")
    reader.add_argument("--report", type=Path, default=None, help="where the page is written")
    return reader.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """0 when every survivor has a reason."""
    asked = _asked(arguments)
    targets = [
        one
        for one in read_targets()
        if not asked.modules
        or any(one.module == name or one.module.startswith(f"{name}.") for name in asked.modules)
    ]
    if not targets:
        raise SystemExit(f"No module in {TARGETS.name} has such a name.")
    unknown = unknown_survivors(targets)
    for line in unknown:
        print(f"Listed as a survivor, but not a mutant: {line}")
    if asked.sample is None and asked.match is None:
        results = _try_all(targets, resume=asked.resume, again=asked.again)
    else:
        pairs = choose(targets, asked.sample or sys.maxsize, asked.seed, changed_files())
        pairs = [pair for pair in pairs if asked.match is None or asked.match in pair[1].name]
        used = {target.module: target for target, _ in pairs}
        results = Workers(pairs, measure(used.values())).run()
    print("\n".join(lines_of(results)))
    if asked.report is not None:
        asked.report.write_text(page_of(results, arguments), encoding="utf-8")
    findings = sum(result.is_finding for result in results) + len(unknown)
    print(f"\n{len(results)} mutants, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
