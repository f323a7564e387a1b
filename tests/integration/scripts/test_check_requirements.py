"""The command that checks whether the tests of requirements notice mutants."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from scripts.check_requirements import SOURCE, Trace, Verdict, check, sampled, share, trace
from scripts.requirement_rows import Requirement, read_areas

IDS = SOURCE / "mainspring" / "contracts" / "ids.py"
CALL = """
from uuid import UUID
from mainspring.contracts.ids import get_id_time

def test_it():
    found = get_id_time(UUID(int=2_000 << 80))
"""


def _test(folder: Path, *lines: str) -> str:
    path = folder / "test_one.py"
    path.write_text(CALL + "".join(f"    {line}\n" for line in lines), encoding="utf-8")
    return str(path)


def _verdicts(test: str) -> list[Verdict]:
    return check([Requirement("A-001", "One.", (test,))], "seed")


def test_a_test_that_looks_at_the_result_holds(tmp_path: Path) -> None:
    (verdict,) = _verdicts(_test(tmp_path, "assert found.timestamp() == 2"))

    assert verdict.outcome == "holds"
    assert "contracts/ids.py" in verdict.detail


def test_a_test_that_looks_at_nothing_is_reported_with_what_was_tried(tmp_path: Path) -> None:
    (verdict,) = _verdicts(_test(tmp_path, "assert True"))

    assert verdict.outcome == "notices nothing"
    assert "contracts/ids.py: get_id_time: return" in verdict.detail


def test_a_test_that_fails_by_itself_is_not_taken_for_one_that_notices(tmp_path: Path) -> None:
    (verdict,) = _verdicts(_test(tmp_path, "assert found is None"))

    assert (verdict.outcome, verdict.detail) == ("fails", "without any mutant")


def test_a_test_of_another_process_cannot_be_judged(tmp_path: Path) -> None:
    path = tmp_path / "test_one.py"
    path.write_text("def test_it():\n    pass\n", encoding="utf-8")

    story = "tests/acceptance/test_codex_over_mcp.py"
    assert list(trace([str(path), story])) == [
        Verdict(str(path), "elsewhere"),
        Verdict(story, "elsewhere"),
    ]


def test_each_of_several_tests_in_one_process_has_its_own_lines(tmp_path: Path) -> None:
    path = Path(_test(tmp_path))
    more = "\n\ndef test_another():\n    pass\n\n\ndef test_broken():\n    assert 0\n"
    path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")
    names = [f"{path}::{name}" for name in ("test_it", "test_another", "test_broken", "test_gone")]
    with pytest.raises(SystemExit, match="test_gone"):
        list(trace(names))

    first, second, third = trace(names[:3])

    assert isinstance(first, Trace)
    assert {one.path for one in first.executed} == {IDS}
    assert second == Verdict(names[1], "elsewhere")
    assert third == Verdict(names[2], "fails", "without any mutant")


def test_a_test_that_passes_only_outside_of_the_worker_is_not_taken_for_one_that_notices(
    tmp_path: Path,
) -> None:
    (verdict,) = _verdicts(_test(tmp_path, "import os", "assert 'MAINSPRING_TRACE' in os.environ"))

    assert (verdict.outcome, verdict.detail) == ("fails", "without any mutant")


def test_a_test_that_fails_only_because_it_is_traced_is_judged(tmp_path: Path) -> None:
    lines = ("assert found.timestamp() == 2", "import sys", "assert sys.gettrace() is None")
    (verdict,) = _verdicts(_test(tmp_path, *lines))

    assert verdict.outcome == "holds"


def test_the_lines_that_a_test_executes_are_found(tmp_path: Path) -> None:
    (found,) = trace([_test(tmp_path)])

    assert isinstance(found, Trace)
    lines = IDS.read_text(encoding="utf-8").splitlines()
    executed = {lines[line - 1].strip() for one in found.executed for line in one.lines}
    assert {one.path for one in found.executed} == {IDS}
    assert any(line.startswith("return datetime") for line in executed), executed


def test_a_sample_is_the_same_for_a_seed_and_begins_with_what_changed() -> None:
    rows = [row for area in read_areas() for row in area.requirements]
    first = sampled(rows, 0.05, "one", [])

    assert len(first) == round(len(rows) * 0.05)
    assert sampled(list(reversed(rows)), 0.05, "one", []) == first
    assert sampled(rows, 0.05, "two", []) != first
    changed = SOURCE / "mainspring" / "definition" / "cron.py"
    of_cron = sampled(rows, 0.05, "one", [changed])[0]
    tests = [(SOURCE.parent / test.partition("::")[0]).read_text() for test in of_cron.tests]
    assert any("mainspring.definition.cron" in text for text in tests)
    in_file = sampled(rows, 0.05, "one", [SOURCE.parent / first[-1].tests[0].partition("::")[0]])
    assert first[-1] in in_file[:-1]


@pytest.mark.parametrize("text", ["0%", "101%", "-5%"])
def test_a_share_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        share(text)
    assert share("5%") == 0.05
