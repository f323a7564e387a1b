"""The mutation testing tool: which changes it makes, how it samples, and what it reports."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from scripts import mutate
from scripts.check import SAMPLE
from scripts.mutation.operators import Mutant, mutants
from scripts.mutation.worker import NamesFirst, Replacement

ROOT = Path(__file__).resolve().parents[3]


def names(source: str) -> list[str]:
    return [one.name for one in mutants(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(a): return a < 2", ["a < 2 → a <= 2", "2 → 3", "return a < 2 → return None"]),
        ("def f(a): a.b(0.5)", ["a.b(0.5) → pass", "0.5 → 1.5"]),
        ("def f(a, b): x = a and b", ["a and b → b", "a and b → a"]),
        ("def f(a, b, c): x = a or b or c", ["a or b or c → b or c"]),
        ("def f(a): x = not a", ["not a → a"]),
        ("def f(a):\n  if a: x = a", ["if a → if not"]),
        ("def f(a): x = any(a)", ["any(a) → all(a)"]),
        ("def f(a): x = max(a)", ["max(a) → min(a)"]),
        ("def f(a): x = [b for b in a if b.ok]", ["if b.ok → no filter"]),
        ("def f(a): raise a", ["raise a → pass"]),
        ("def f(a, b): a += b", ["a += b → a -= b"]),
        ("def f(a, b): x = a if b else None", ["a if b else None → None if b else a"]),
        ("def f(a, b): x = None if a is None else b", ["None if a is None else b → None"]),
        ("def f(a, b): x = b if a else None", ["b if a else None → None"]),
        ("def f(a, b): x = 0 < a <= b", ["0 < a <= b → 0 <= a <= b", "0 < a <= b → 0 < a < b"]),
    ],
)
def test_each_kind_of_mistake_is_made(source: str, expected: list[str]) -> None:
    assert {f"f: {name}" for name in expected} <= set(names(source))


def test_an_exact_comparison_is_tried_as_a_prefix_in_both_directions() -> None:
    assert set(names("def f(a, b): x = a == b")) == {
        "f: a == b → a != b",
        "f: a == b → str(a).startswith(str(b))",
        "f: a == b → str(b).startswith(str(a))",
    }
    assert "f: a != b → not str(a).startswith(str(b))" in names("def f(a, b): x = a != b")


def test_each_name_and_each_entry_that_a_module_declares_is_changed() -> None:
    assert names('A = "admin_"') == ["A: 'admin_' → 'admin_x'"]
    assert names('A = frozenset({"a", "b"})') == ["A: without 'a'", "A: without 'b'"]
    assert names("A = {R.x: L.one, R.y: L.two}") == [
        "A: R.x: L.one → L.two",
        "A: R.y: L.two → L.one",
    ]
    assert names('__all__ = ["a", "b"]') == []


def test_what_only_people_or_type_checkers_read_is_left_alone() -> None:
    source = '''
"""SELECT 1 AND 2"""
if TYPE_CHECKING:
    from a import b
Kind = Literal["a", "b"]
@dataclass(frozen=True)
class A:
    """Text."""
    field: Literal[1]
def f(a: Literal[2]) -> Literal[3]:
    """Text."""
    log.info("x", 4)
    x = f"{a + 1}" + "text"
'''
    assert names(source) == []


@pytest.mark.parametrize(
    ("query", "changed"),
    [
        ("SELECT 1 FROM t WHERE a = $1", {"SELECT 1 FROM t WHERE a <> $1"}),
        ("SELECT 1 FROM t WHERE a IS NULL", {"SELECT 1 FROM t WHERE a IS NOT NULL"}),
        ("SELECT 1 FROM t WHERE a <= now()", {"SELECT 1 FROM t WHERE a > now()"}),
        ("SELECT 1 FROM t FOR UPDATE SKIP LOCKED", {"SELECT 1 FROM t "}),
        (
            "SELECT 1 FROM t WHERE (a AND (b OR c)) ORDER BY a",
            {"SELECT 1 FROM t WHERE (a ) ORDER BY a"},
        ),
        (
            "SELECT 1 FROM t WHERE a AND b\n AND c RETURNING d",
            {
                "SELECT 1 FROM t WHERE a AND c RETURNING d",
                "SELECT 1 FROM t WHERE a AND b\n RETURNING d",
            },
        ),
        ("SELECT 1 FROM t WHERE a BETWEEN 1 AND 2", set()),
        ("SELECT 1 FROM t JOIN u USING (a, b)", {"SELECT 1 FROM t JOIN u USING (a)"}),
        ("UPDATE t SET a = b AND f(c, d), e = 1", {"UPDATE t SET a = b , e = 1"}),
        ("UPDATE t SET a = $1", set()),
        (
            "UPDATE t SET a = $1 WHERE b = ANY($2)",
            {"UPDATE t SET a = $1 WHERE b <> ALL($2)"},
        ),
    ],
)
def test_queries_lose_or_reverse_a_condition(query: str, changed: set[str]) -> None:
    found = mutants(f"Q = {query!r}")
    assert {ast.literal_eval(one.make().removeprefix("Q = ")) for one in found} == changed


def test_a_query_with_names_in_it_is_changed_too() -> None:
    found = list(mutants('C = 1\nQ = f"SELECT {C} FROM t WHERE a = $1"'))
    assert any("WHERE a <> $1" in one.make() for one in found)


def test_a_mutant_differs_from_the_module_in_one_place_and_compiles() -> None:
    source = (ROOT / "src/mainspring/definition/grants.py").read_text(encoding="utf-8")
    plain = ast.unparse(ast.parse(source))
    found = list(mutants(source))
    assert len({one.name for one in found}) == len(found)
    for one in found:
        compile(one.make(), one.name, "exec")
        assert one.make() != plain
        assert 0 < one.line <= source.count("\n")


def target(tmp_path: Path, source: str, **value: Any) -> mutate.Target:
    """A target whose module is a file of the test."""
    path = tmp_path / "module.py"
    path.write_text(source, encoding="utf-8")

    class Here(mutate.Target):
        @property
        def path(self) -> Path:
            return path

    values: dict[str, Any] = {"tests": (), "survivors": {}, **value}
    return Here("module", "people", **values)


LIMITS = "".join(f"A{number} = {number}\n" for number in range(30))


def test_a_sample_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    one = target(tmp_path, LIMITS)
    chosen = [mutate.choose([one], 5, seed, ()) for seed in ("a", "a", "b")]
    assert chosen[0] == chosen[1] != chosen[2]
    assert len(chosen[0]) == 5


@pytest.mark.parametrize("changed", ["src/mainspring/gate/policy.py", "tests/unit/test_it.py"])
def test_mutants_of_changed_modules_and_tests_come_first(tmp_path: Path, changed: str) -> None:
    other = target(tmp_path, LIMITS)
    policy = mutate.Target("gate.policy", "people", ("tests/unit/test_it.py",), {})
    chosen = mutate.choose([other, policy], 5, "seed", [ROOT / changed])
    assert [one.module for one, _ in chosen] == ["gate.policy"] * 5


def test_a_sample_is_limited_by_its_estimated_time(tmp_path: Path) -> None:
    slow = target(tmp_path, LIMITS, seconds=9.5)
    # Each mutant takes ten seconds, and so do the tests without one.
    assert mutate.choose([slow], 99, "", (), 19) == []
    assert len(mutate.choose([slow], 99, "", (), 20)) == 1
    chosen = mutate.choose([slow], 99, "", (), 59)
    assert (len(chosen), mutate.estimate(chosen)) == (4, 50.0)
    # Of one module a limited sample takes a share, and more of one that changed.
    counts = [len(mutate.choose([slow], 99, "", changed, 999)) for changed in ((), [slow.path])]
    assert counts == [8, 20]
    assert len(mutate.choose([slow], 99, "", ())) == 30


def test_any_sample_of_check_is_estimated_to_take_less_than_two_minutes() -> None:
    most, seconds = (float(SAMPLE[SAMPLE.index(name) + 1]) for name in ("--sample", "--seconds"))
    targets = mutate.read_targets()
    files = [[], [one.path for one in targets], [targets[0].path]]
    for number, changed in enumerate(files):
        chosen = mutate.choose(targets, int(most), f"seed {number}", changed, seconds)
        assert len(chosen) >= 10
        assert mutate.estimate(chosen) <= seconds <= 120


def test_the_commit_is_the_seed_and_there_is_one_without_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    assert (mutate.current_commit(), mutate.changed_files()) == ("mainspring", [])

    def git(*text: str) -> str:
        given = ("-c", "user.name=x", "-c", "user.email=x@example.com", *text)
        return subprocess.run(
            ["git", *given], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.strip()

    git("init", "--initial-branch", "main")
    for name in ("first", "second", "third"):
        (tmp_path / "src").mkdir(exist_ok=True)
        (tmp_path / "src" / name).write_text("")
        git("add", ".")
        git("commit", "-m", name)
    assert mutate.current_commit() == git("rev-parse", "HEAD")
    assert mutate.changed_files() == [tmp_path / "src/third"]
    git("update-ref", "refs/remotes/origin/main", "HEAD~2")
    assert mutate.changed_files() == [tmp_path / "src/second", tmp_path / "src/third"]
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert mutate.changed_files() == [tmp_path / "src/third"]


@pytest.mark.parametrize(
    ("attempts", "answers", "outcome"),
    [
        (1, ["survived", "killed"], "survived"),
        (3, ["survived", "survived", "killed"], "killed"),
        (3, ["survived", "timed out"], "timed out"),
        (3, ["survived", "survived", "survived", "killed"], "survived"),
        (3, ["killed", "survived"], "killed"),
    ],
)
def test_a_survivor_is_tried_again_in_a_sample(
    tmp_path: Path, attempts: int, answers: list[str], outcome: str
) -> None:
    one = target(tmp_path, "A = 1")
    (mutant,) = one.mutants()
    workers = mutate.Workers([], attempts=attempts)
    given = iter(answers)
    assert workers._outcome(lambda task: {"outcome": next(given)}, one, mutant, 9) == outcome


class Machine:
    """A clock, and a worker whose tasks take time on it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: tuple[str, float]) -> None:
        self.now = 1000.0
        self.allowed: list[float] = []
        self._answers = iter(answers)
        monkeypatch.setattr(mutate, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(mutate, "_worker", lambda: nullcontext(self.ask))

    def ask(self, task: Mapping[str, Any]) -> dict[str, Any]:
        outcome, seconds = next(self._answers)
        self.allowed.append(task["seconds"])
        if seconds > task["seconds"]:
            outcome, seconds = "timed out", task["seconds"]
        self.now += seconds
        return {"outcome": outcome, "seconds": seconds}


def tried(
    one: mutate.Target, seconds: float, attempts: int = 3
) -> tuple[mutate.Workers, list[str]]:
    pairs = [(one, mutant) for mutant in one.mutants()]
    workers = mutate.Workers(pairs, processes=1, attempts=attempts, deadline=1000 + seconds)
    return workers, [result.outcome for result in workers.run()]


def test_a_slow_machine_tries_fewer_mutants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = target(tmp_path, "A = 1\nB = 2\nC = 3\nD = 4")
    # The tests take 40 seconds without a mutant, and the third mutant is tried at the deadline.
    machine = Machine(
        monkeypatch, ("survived", 40), ("killed", 40), ("killed", 40), ("survived", 40)
    )
    _, outcomes = tried(one, 150)
    assert outcomes == ["killed", "killed"]
    assert machine.allowed == [150, 110, 70, 30]
    assert machine.now == 1150


def test_a_mutant_that_survives_until_the_deadline_is_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = target(tmp_path, "A = 1")
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    answers = [("survived", 40)] * 4
    Machine(monkeypatch, *answers)
    assert tried(one, 160)[1] == ["survived"]
    Machine(monkeypatch, *answers)
    assert tried(one, 159)[1] == []
    Machine(monkeypatch, *answers)
    assert tried(one, 120)[1] == []


def test_tests_that_are_too_slow_without_a_mutant_try_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = target(tmp_path, "A = 1\nB = 2")
    Machine(monkeypatch, ("survived", 301))
    workers, outcomes = tried(one, 540)
    assert (outcomes, workers.slow, workers.failed) == ([], {"module"}, set())
    Machine(monkeypatch, ("killed", 2), ("survived", 301))
    workers, outcomes = tried(one, 540)
    assert (outcomes, workers.slow, workers.failed) == ([], {"module"}, set())


def test_tests_that_fail_without_a_mutant_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = target(tmp_path, "A = 1")
    Machine(monkeypatch, ("killed", 2), ("killed", 2), ("survived", 2), ("killed", 2))
    workers, outcomes = tried(one, 540)
    assert (outcomes, workers.failed) == (["killed"], set())
    Machine(monkeypatch, ("killed", 2), ("killed", 2), ("killed", 2))
    workers, outcomes = tried(one, 540)
    assert (outcomes, workers.failed) == ([], {"module"})


@pytest.mark.parametrize(
    ("answers", "ends", "says"),
    [
        ([("survived", 2), ("killed", 2), ("killed", 2)], 0, "\n2 mutants, 0 timed out, 0 find"),
        ([("survived", 2), ("killed", 2), ("survived", 40)], 0, ", 1 timed out, 0 findings"),
        ([("survived", 500), ("killed", 2), ("killed", 50)], 0, "module take too long"),
        ([("survived", 250), ("killed", 250), ("killed", 50)], 0, "1 mutants, 1 not tried in time"),
        ([("survived", 2)] * 5, 1, "\n2 mutants, 1 timed out, 1 findings"),
        ([("killed", 2)] * 3, 1, "The tests of module fail without any mutant."),
    ],
)
def test_a_sample_ends_in_time_and_says_what_was_not_tried(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answers: list[tuple[str, float]],
    ends: int,
    says: str,
) -> None:
    one = target(tmp_path, "A = 1\nB = 2")
    monkeypatch.setattr(mutate, "read_targets", lambda: [one])
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    machine = Machine(monkeypatch, *answers, ("survived", 541))
    try:
        code = mutate.main(SAMPLE)
    except SystemExit as end:
        code = int(str(end.code))
    assert code == ends
    assert says in capsys.readouterr().out
    assert machine.now <= 1540


def test_a_sample_leaves_listed_survivors_out(tmp_path: Path) -> None:
    one = target(tmp_path, "A = 1\nB = 2", survivors={"A: 1 → 2": "reason"})
    assert [mutant.name for _, mutant in mutate.choose([one], 9, "", ())] == ["B: 2 → 3"]


def test_a_sample_leaves_out_what_was_not_tried_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = target(tmp_path, "A = 1\nB = 2", sampled=False)
    monkeypatch.setattr(mutate, "read_targets", lambda: [one])
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    monkeypatch.setattr(mutate, "RESULTS", tmp_path)
    Machine(monkeypatch, *[("survived", 1), ("killed", 1), ("killed", 1)] * 2)
    assert mutate.main(SAMPLE) == 0
    assert capsys.readouterr().out.startswith("0 mutants selected")
    assert mutate.main(["--processes", "1"]) == 0
    assert capsys.readouterr().out.endswith("\n2 mutants, 0 timed out, 0 findings\n")


def test_only_what_decides_is_changed(tmp_path: Path) -> None:
    one = target(tmp_path, "A = 1\nB = 2", only=("B",))
    assert [mutant.name for mutant in one.mutants()] == ["B: 2 → 3"]


def test_a_survivor_without_a_reason_and_a_reason_without_a_survivor_are_findings(
    tmp_path: Path,
) -> None:
    one = target(tmp_path, "", survivors={"listed": "It is equivalent.", "gone": ""})
    results = {
        (name, outcome): mutate.Result(one, Mutant(name, 1, str), outcome)
        for name in ("listed", "other")
        for outcome in ("survived", "killed", "timed out")
    }
    assert {key for key, result in results.items() if result.is_finding} == {
        ("other", "survived"),
        ("listed", "killed"),
    }
    assert mutate.unknown_survivors([one]) == ["module: gone", "module: listed"]


def test_the_report_counts_and_gives_reasons(tmp_path: Path) -> None:
    one = target(tmp_path, "", survivors={"listed": "It is equivalent."})
    results = [
        mutate.Result(one, Mutant(name, line, str), outcome)
        for name, line, outcome in [
            ("listed", 7, "survived"),
            ("other", 8, "survived"),
            ("third", 9, "killed"),
            ("fourth", 9, "timed out"),
        ]
    ]
    page = mutate.page_of(results, ["--report", "page.md"])
    assert "| `module` | people | 4 | 2 | 2 | 50.0 % |" in page
    assert "- Line 7, `listed`: It is equivalent.\n- Line 8, `other`: **No reason" in page
    assert "`python -m scripts.mutate --report page.md`" in page
    assert "Not tried" not in page
    other = target(tmp_path, "A = 1\nB = 2")
    page = mutate.page_of(results, ["module"], [other])
    assert "tests changed: `module` (2 mutants)." in page


def test_results_are_kept_until_the_module_or_its_tests_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutate, "RESULTS", tmp_path / "results")
    tests = tmp_path / "test_it.py"
    tests.write_text("")
    one = target(tmp_path, "A = 1\nB = 2", tests=(str(tests),))

    def earlier(*, killed: bool) -> dict[str, str]:
        found = mutate._earlier(one, killed=killed)
        return {result.mutant.name: result.outcome for result in found}

    assert earlier(killed=True) == {}
    outcomes = {"A: 1 → 2": "survived", "B: 2 → 3": "killed"}
    results = [mutate.Result(one, each, outcomes[each.name]) for each in one.mutants()]
    mutate._keep(one, one.tests_hash(), results)
    assert earlier(killed=False) == outcomes
    # In a module that has changed, every mutant has.
    one.path.write_text("A = 1\nB = 2\nC = 3")
    assert earlier(killed=False) == {}
    assert earlier(killed=True) == {"B: 2 → 3": "killed"}
    one.path.write_text("A = 1\nB = 2")
    assert earlier(killed=False) == outcomes
    tests.write_text("# A test was added.")
    assert earlier(killed=False) == {}
    assert earlier(killed=True) == {"B: 2 → 3": "killed"}


def test_every_listed_survivor_has_a_reason_and_every_listed_file_exists() -> None:
    targets = mutate.read_targets()
    assert len({one.module for one in targets}) == len(targets)
    assert mutate.unknown_survivors(targets) == []
    for one in targets:
        assert all(reason.endswith(".") for reason in one.survivors.values()), one.module
        assert all((ROOT / name).is_file() for name in one.tests), one.module
        places = {mutant.place for mutant in one.mutants()}
        assert set(one.only) <= places, one.module


TRIED = """
from mainspring.contracts.roles import Role, min_role

def test_min_role() -> None:
    assert min_role(Role.VIEWER, Role.OWNER) is Role.VIEWER
"""


CHANGES = [
    ("", "", "", "survived"),
    ("one.rank <= other.rank", "one.rank > other.rank", "", "killed"),
    ("from enum import", "from nowhere import", "", "killed"),
    ("def min_role(", "while True: pass\ndef min_role(", "", "timed out"),
    # By a process that has collected the tests, where that is possible.
    ("one.rank <= other.rank", "one.rank < other.rank", "min_role", "survived"),
    ("one.rank <= other.rank", "one.rank > other.rank", "min_role", "killed"),
    ("from enum import", "from nowhere import", "Role", "killed"),
]


def test_a_worker_runs_the_tests_with_the_module_replaced(tmp_path: Path) -> None:
    tests = tmp_path / "test_tried.py"
    tests.write_text(TRIED, encoding="utf-8")
    path = ROOT / "src/mainspring/contracts/roles.py"
    source = path.read_text(encoding="utf-8")
    tasks = [
        {
            "module": "mainspring.contracts.roles",
            "path": str(path),
            "source": source.replace(old, new),
            "tests": [str(tests)],
            "place": place,
            "seconds": 4 if outcome == "timed out" else 300,
        }
        for old, new, place, outcome in CHANGES
    ]
    worker = subprocess.run(
        [sys.executable, "-m", "scripts.mutation.worker"],
        input="\n".join(map(json.dumps, tasks)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    outcomes = [json.loads(line)["outcome"] for line in worker.stdout.splitlines()]
    assert outcomes == [outcome for *_, outcome in CHANGES]


IMPORTED = """
_SQL = "SELECT 1"
_BOTH = f"{_SQL} AND 2"
_EARLY = "early"
SHOWN = "shown"

def early():
    return _EARLY

VALUE = early()

def late():
    return _SQL, _BOTH

class Some:
    word = "word"

    @property
    def kind(self):
        return 1

    @classmethod
    def make(cls):
        def inner():
            return 2
        return inner()
"""


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Replacement]:
    """A module that is imported, and what replaces its parts."""
    name = "module_of_a_test"
    module: Any = ModuleType(name)
    replacement = Replacement(name, f"/{name}.py")
    monkeypatch.setitem(sys.modules, name, module)
    before = sys.getprofile()
    sys.setprofile(replacement.note)
    exec(compile(IMPORTED, f"/{name}.py", "exec"), module.__dict__)
    sys.setprofile(before)
    return module, replacement


def test_code_that_has_not_run_and_private_text_are_replaced(
    imported: tuple[Any, Replacement],
) -> None:
    module, replacement = imported
    some = module.Some
    assert replacement.replace(IMPORTED.replace("return 1", "return 10"), "Some.kind")
    assert replacement.replace(IMPORTED.replace("return 2", "return 20"), "Some.make.inner")
    assert (some().kind, some.make()) == (10, 20)
    late = module.late
    assert replacement.replace(IMPORTED.replace("SELECT 1", "SELECT 3"), "_SQL")
    assert late() == ("SELECT 3", "SELECT 3 AND 2")


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("return _EARLY", "return 1", "early"),
        ('"early"', '"later"', "_EARLY"),
        ('"shown"', '"hidden"', "SHOWN"),
        ('"word"', '"words"', "Some"),
        ("def late", "def later", "late"),
        ("return _SQL, _BOTH", "return 1", "Some.late"),
    ],
)
def test_what_may_have_been_used_already_is_not_replaced(
    imported: tuple[Any, Replacement], old: str, new: str, place: str
) -> None:
    module, replacement = imported
    assert not replacement.replace(IMPORTED.replace(old, new), place)
    assert (module.VALUE, module.SHOWN, module.early()) == ("early", "shown", "early")


def test_text_that_another_module_imported_is_not_replaced(
    imported: tuple[Any, Replacement], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, replacement = imported
    other: Any = ModuleType("other_module_of_a_test")
    other._SQL = module._SQL
    monkeypatch.setitem(sys.modules, "other_module_of_a_test", other)
    assert not replacement.replace(IMPORTED.replace("SELECT 1", "SELECT 3"), "_SQL")


def _names_it() -> str:
    return "permits"


def _names_nothing() -> None:
    pass


def test_tests_that_name_what_is_mutated_run_first() -> None:
    items = [
        SimpleNamespace(function=one) for one in (_names_nothing, len, _names_it, _names_nothing)
    ]
    items.append(SimpleNamespace())
    ordered = list(items)
    NamesFirst("Grants.permits").pytest_collection_modifyitems(ordered)
    assert ordered == [items[2], items[0], items[1], items[3], items[4]]
    NamesFirst("").pytest_collection_modifyitems(items)
    assert items[0].function is _names_nothing
