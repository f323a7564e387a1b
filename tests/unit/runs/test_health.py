"""What the vitals of the house mean."""

from __future__ import annotations

import pytest

from mainspring.runs.health import PATIENCE_SECONDS, Vitals, judge


def _red(vitals: Vitals | None) -> set[str]:
    return {check.name for check in judge(vitals).checks if not check.ok}


def test_a_house_in_which_nothing_waits_is_well() -> None:
    assert judge(Vitals(workers=1)).status == "ok"
    assert judge(Vitals()).status == "ok"


def test_a_house_without_a_database_is_down() -> None:
    assert judge(None).status == "down"
    assert _red(None) == {"database"}


@pytest.mark.parametrize(
    ("vitals", "red"),
    [
        (Vitals(workers=1, overdue_schedules=2, schedule_seconds=61), {"schedules"}),
        (Vitals(workers=1, schedule_seconds=59), set()),
        (Vitals(workers=0, run_seconds=61), {"workers"}),
        (Vitals(workers=0, run_seconds=59), set()),
        (Vitals(workers=1, run_seconds=3_600), set()),
        (Vitals(event_seconds=61), {"events"}),
        (Vitals(event_seconds=59), set()),
        (Vitals(unheard_seconds=61), {"events"}),
        (
            Vitals(schedule_seconds=90, overdue_schedules=1, run_seconds=90, event_seconds=90),
            {"schedules", "workers", "events"},
        ),
    ],
)
def test_what_stands_still_for_a_minute_is_shown(vitals: Vitals, red: set[str]) -> None:
    assert _red(vitals) == red
    assert judge(vitals).status == ("degraded" if red else "ok")


def test_a_missed_moment_is_shown_well_before_the_promised_ninety_seconds() -> None:
    assert PATIENCE_SECONDS <= 75


def test_a_red_check_says_how_long_and_how_many() -> None:
    health = judge(Vitals(overdue_schedules=3, schedule_seconds=75.9))

    (detail,) = (check.detail for check in health.checks if not check.ok)
    assert "3" in detail
    assert "75 s" in detail
