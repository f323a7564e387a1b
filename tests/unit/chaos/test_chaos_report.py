"""The command's own parts: figures, the figure line, the table and the page."""

from __future__ import annotations

from typing import get_args

import pytest

from tests.chaos.__main__ import chosen, judged
from tests.chaos.batteries import counts
from tests.chaos.check import (
    Check,
    CheckOptions,
    Size,
    Verdict,
    at_least,
    at_most,
    exactly,
    none_of,
    percentile,
    told,
    within,
)
from tests.chaos.checks import CHECKS
from tests.chaos.report import Result, page, table
from tests.kit.processes import ROOT


async def breaks_off(asked: CheckOptions) -> Verdict:
    raise AssertionError(f"nothing came of {asked.of('a quick', 'a full')} one\nmore")


BREAKS_OFF = "unit.chaos.test_chaos_report.breaks_off"
CHECK = Check("R0", "Something is done.", "a little", "a lot", BREAKS_OFF)


def _result(verdict: Verdict) -> Result:
    return Result(CHECK, verdict, size="quick", seed=7, seconds=1.25)


def test_a_verdict_is_kept_when_every_figure_is() -> None:
    stored = [
        none_of("lost", []),
        at_most("p99", 1.5, 1.5, "s"),
        at_least("rate", 500.0, 500),
        exactly("runs", 3, 3),
        within("after", [2.0, 3.0], 2, 3, "s"),
        told("kills", 4),
    ]
    broken = [
        none_of("lost", ["x"]),
        at_most("p99", 1.51, 1.5),
        at_least("rate", 499.9, 500),
        exactly("runs", 2, 3),
        within("after", [], 2, 3),
        within("after", [1.9], 2, 3),
    ]
    assert Verdict(stored).passed
    assert [figure.met for figure in broken] == [False] * len(broken)
    assert not Verdict([]).passed
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert [str(figure) for figure in stored[:2]] == ["lost 0 (0)", "p99 1.5 s (≤ 1.5 s)"]


def test_the_line_the_table_and_the_page_say_the_same() -> None:
    good, bad = _result(Verdict([none_of("lost", [])])), _result(Verdict([exactly("a|b", 2, 3)]))
    assert good.line == "R0: a little: lost 0 (0), seed 7: PASSED"
    assert bad.line.endswith(": FAILED")
    *_, last = table([good, bad])
    assert last == "1 of 2 checks passed"
    other = Check("R9", "Something else.", "some", "all", BREAKS_OFF)
    earlier = "| R9 | full: all | lost 0 (0) | 9 | 1 | then | PASSED |"
    text = page([bad], [CHECK, other], "the command", f"# Old\n\n{earlier}\n")
    assert "| R0 | quick: a little | a/b 2 (3) | 1 | 7 | " in text
    assert earlier in text.splitlines()
    assert "Checks passed: 1 of 2" in text
    assert "the command" in text
    assert "# Old" not in text


async def test_a_check_that_breaks_off_has_failed_with_its_reason() -> None:
    verdict = await judged(CHECK, CheckOptions("full", seed=1))
    assert not verdict.passed
    assert "nothing came of a full one" in verdict.figures[0].found


def test_on_a_shared_machine_times_have_slack_and_the_median_is_compared() -> None:
    times = [1.0, 1.0, 9.0]
    quick, shared = CheckOptions("quick", 1), CheckOptions("check", 1)
    assert [asked.at_most("late", 7, 2).met for asked in (quick, shared)] == [False, True]
    assert not shared.at_most("late", 8.1, 2).met
    assert [asked.slowest(times) for asked in (quick, shared)] == [9.0, 1.0]
    assert [CheckOptions(size, 1).of(2, 3, check=1) for size in get_args(Size)] == [1, 2, 3]
    assert shared.of(2, 3) == 2
    small = Check("R0", "Something is done.", "a little", "a lot", BREAKS_OFF, check="less")
    assert [small.size(size) for size in get_args(Size)] == ["less", "a little", "a lot"]
    assert CHECK.size("check") == "a little"


def test_every_number_has_a_check_and_can_be_chosen() -> None:
    numbers = [check.number for check in CHECKS]
    assert numbers == [*(f"R{number}" for number in range(1, 21)), "W4", "S6"]
    for check in CHECKS:
        # Loading all of them would load the whole product for this one question.
        *folders, name = check.place.split(".")
        text = ROOT.joinpath("tests", *folders).with_suffix(".py").read_text(encoding="utf-8")
        assert f"async def {name}(asked: CheckOptions) -> Verdict:" in text
    assert [check.number for check in chosen("r3, W4")] == ["R3", "W4"]
    with pytest.raises(SystemExit, match="R99"):
        chosen("R99")


def test_what_a_battery_says_is_counted_from_its_last_line() -> None:
    assert counts("1 failed in a name\n=== 3 passed, 2 skipped in 4.5s ===\n") == {
        "passed": 3,
        "skipped": 2,
    }
    assert counts("no tests ran") == {}
