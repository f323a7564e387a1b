"""``./check``: every part has a verdict, and only a part that ran to its end has passed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts.check import PARTS, Part, Runner, choose, read_counts, summarize
from scripts.test_services import NotAvailable


def _unavailable() -> str:
    raise NotAvailable("needs a browser: see the README")


def test_a_part_that_cannot_run_fails_and_those_after_it_still_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = (sys.executable, "-c", "print('fine')")
    runner = Runner(tmp_path)
    runner.run_all(
        [
            Part("gone", ("/nonexistent/program",)),
            Part("bad", (sys.executable, "-c", "raise SystemExit('the reason')")),
            Part("browser", good, needs=(_unavailable,)),
            Part("good", good),
        ]
    )
    code = summarize(runner.verdicts, 1.0)
    message = capsys.readouterr().out

    assert code == 1
    assert [verdict.is_pass for verdict in runner.verdicts] == [False, False, False, True]
    assert "the reason" in message
    assert "not run: needs a browser: see the README" in message
    assert "check: FAILED: gone, bad, browser" in message


def test_the_last_line_of_a_part_is_shown_where_it_says_what_was_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (sys.executable, "-c", "print('first'); print('30 mutants, 10 not tried in time')")
    runner = Runner(tmp_path)
    runner.run_all([Part("mutation", words, summary=True), Part("other", words)])
    first, second = capsys.readouterr().out.splitlines()

    assert first.endswith("CPU s  30 mutants, 10 not tried in time")
    assert second.endswith("CPU s")


def test_tests_are_counted_over_all_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_one.py").write_text("def test_a(): pass\ndef test_b(): assert 0\n")
    runner = Runner(tmp_path)
    runner.run_all([Part("some", (sys.executable, "-m", "pytest", "-q", str(tmp_path)))])

    assert summarize(runner.verdicts, 1.0) == 1
    assert read_counts(tmp_path / "some.xml") == {"passed": 1, "failed": 1, "skipped": 0}
    message = capsys.readouterr().out
    assert "assert 0" in message
    assert message.endswith("check: FAILED: some\n1 passed, 1 failed\n")


def test_parts_are_chosen_by_name() -> None:
    first, others = choose(["quick"])
    assert {"format", "lint"} <= {part.name for part in first}
    assert {"types", "unit", "smoke"} <= {part.name for part in others}
    # Every test runs; only the state machines take fewer steps.
    (unit,) = (part.command for part in others if part.name == "unit")
    (whole,) = (part.command for part in PARTS if part.name == "unit")
    assert unit == ("env", "STATE_STEPS=10", *whole)
    # The two lanes share the work, so that no processor is left with nothing to do.
    assert [part.name for part in others if not part.concurrent] == ["architecture", "smoke"]
    assert {"crash", "mutation"}.isdisjoint(part.name for part in others)
    assert "mutation" in {part.name for part in choose([])[1]}
    assert [part.name for part in choose(["crash", "lint"])[1]] == ["crash", "lint"]
    assert not [part for part in choose([])[1] if part.name == "smoke"]
    with pytest.raises(SystemExit, match="There is no part called nope"):
        choose(["nope"])


def test_the_chaos_battery_runs_with_the_same_seed_when_the_other_parts_have_ended() -> None:
    *_, last = (part for part in PARTS if not part.concurrent)

    assert last.name == "chaos"
    assert not last.quick
    assert last.command[1:] == ("-m", "tests.chaos", "--size", "check", "--seed", "1")
