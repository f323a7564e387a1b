"""Mutation testing: does a test fail when a decision that protects people is changed?

    python -m scripts.mutate                          every module in scripts/mutation/targets.toml
    python -m scripts.mutate definition.grants        one module, or several
    python -m scripts.mutate --sample 60 --seed HASH  a sample, the same for the same seed
    python -m scripts.mutate --report PATH            and a page about it

Each mutant is one small change of one module (``scripts/mutation/operators.py``). It is killed when
one of the module's tests fails. A survivor is listed with its reason in the targets file, or it is
a finding, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import threading
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from scripts.mutation.operators import Mutant, mutants

ROOT: Final = Path(__file__).resolve().parent.parent
TARGETS: Final = ROOT / "scripts" / "mutation" / "targets.toml"
_PROCESSES: Final = 2
_MOST_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class Target:
    """A module, what it protects, its tests, and the mutants that may survive with a reason."""

    module: str
    protects: str
    tests: tuple[str, ...]
    survivors: Mapping[str, str]

    @property
    def path(self) -> Path:
        return ROOT / "src" / "mainspring" / (self.module.replace(".", "/") + ".py")


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one mutant."""

    target: Target
    mutant: Mutant
    outcome: str

    @property
    def is_finding(self) -> bool:
        return self.outcome == "survived" and self.mutant.name not in self.target.survivors


def read_targets(path: Path = TARGETS) -> list[Target]:
    """The modules that the file names."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["target"]
    return [
        Target(
            entry["module"], entry["protects"], tuple(entry["tests"]), entry.get("survivors", {})
        )
        for entry in entries
    ]


def choose(
    found: Sequence[tuple[Target, Mutant]], most: int, seed: str, changed: Iterable[Path]
) -> list[tuple[Target, Mutant]]:
    """So many mutants, in an order that the seed decides; those of changed modules come first."""
    first = set(changed)

    def order(pair: tuple[Target, Mutant]) -> tuple[bool, str]:
        name = f"{seed} {pair[0].module} {pair[1].name}"
        return pair[0].path not in first, hashlib.sha256(name.encode()).hexdigest()

    return sorted(found, key=order)[:most]


def changed_modules() -> list[Path]:
    """The modules that the last commit changed."""
    asked = subprocess.run(
        ["git", "diff", "--name-only", "HEAD~1", "--", "src"],  # noqa: S607
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
                        print(f"{target.module}:{mutant.line} survived: {mutant.name}", flush=True)

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
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
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
    yield "| module | protects | mutants | killed | score | survivors without a reason |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    by_module: dict[str, list[Result]] = {}
    for result in results:
        by_module.setdefault(result.target.module, []).append(result)
    for module, some in sorted(by_module.items()):
        counts = Counter(one.outcome for one in some)
        killed = len(some) - counts["survived"]
        bad = sum(one.is_finding for one in some)
        score = 100 * killed / len(some)
        protects = some[0].target.protects
        yield f"| {module} | {protects} | {len(some)} | {killed} | {score:.0f} % | {bad} |"
    survived = [one for one in results if one.outcome == "survived"]
    if survived:
        yield ""
        yield "Survivors:"
        yield ""
    for one in sorted(survived, key=lambda one: (one.target.module, one.mutant.line)):
        reason = one.target.survivors.get(one.mutant.name, "**no reason given**")
        yield f"- `{one.target.module}` line {one.mutant.line}, `{one.mutant.name}`: {reason}"


def main(arguments: Sequence[str]) -> int:
    """0 when every survivor has a reason."""
    reader = argparse.ArgumentParser(
        prog="python -m scripts.mutate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    reader.add_argument("modules", nargs="*", metavar="MODULE")
    reader.add_argument("--sample", type=int, default=None, help="how many mutants; default: all")
    reader.add_argument("--seed", default="", help="what chooses the sample, such as a commit")
    reader.add_argument("--report", type=Path, default=None, help="where the table is written")
    asked = reader.parse_args(arguments)
    targets = [
        one
        for one in read_targets()
        if not asked.modules
        or any(one.module == name or one.module.startswith(f"{name}.") for name in asked.modules)
    ]
    if not targets:
        raise SystemExit(f"No module in {TARGETS.name} has such a name.")
    pairs = [
        (target, mutant)
        for target in targets
        for mutant in mutants(target.path.read_text(encoding="utf-8"))
    ]
    if asked.sample is not None:
        pairs = choose(pairs, asked.sample, asked.seed, changed_modules())
    used = {target.module: target for target, _ in pairs}
    results = Workers(pairs, measure(used.values())).run()
    lines = list(lines_of(results))
    print("\n".join(lines))
    if asked.report is not None:
        asked.report.write_text("\n".join(lines) + "\n", encoding="utf-8")
    findings = sum(result.is_finding for result in results)
    print(f"\n{len(results) - findings} passed, {findings} failed")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
