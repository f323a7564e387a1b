"""What the vitals of the application mean."""

from __future__ import annotations

import pytest

from mainspring.runs.health import PATIENCE_SECONDS, HealthSignals, judge


def _red(vitals: HealthSignals | None) -> set[str]:
    return {check.name for check in judge(vitals).checks if not check.ok}


def test_an_installation_with_an_empty_queue_is_healthy() -> None:
    assert judge(HealthSignals(workers=1)).status == "ok"
    assert judge(HealthSignals()).status == "ok"


def test_an_installation_without_a_database_is_down() -> None:
    assert judge(None).status == "down"
    assert _red(None) == {"database"}


@pytest.mark.parametrize(
    ("vitals", "red"),
    [
        (HealthSignals(workers=1, overdue_schedules=2, schedule_seconds=61), {"schedules"}),
        (HealthSignals(workers=1, schedule_seconds=59), set()),
        (HealthSignals(workers=0, run_seconds=61), {"workers"}),
        (HealthSignals(workers=0, run_seconds=59), set()),
        (HealthSignals(workers=1, run_seconds=3_600), set()),
        (HealthSignals(event_seconds=61), {"events"}),
        (HealthSignals(event_seconds=59), set()),
        (HealthSignals(unheard_seconds=61), {"events"}),
        (
            HealthSignals(
                schedule_seconds=90, overdue_schedules=1, run_seconds=90, event_seconds=90
            ),
            {"schedules", "workers", "events"},
        ),
    ],
)
def test_what_stalls_for_a_minute_is_shown(vitals: HealthSignals, red: set[str]) -> None:
    assert _red(vitals) == red
    assert judge(vitals).status == ("degraded" if red else "ok")


def test_a_missed_moment_is_shown_well_before_the_promised_ninety_seconds() -> None:
    assert PATIENCE_SECONDS <= 75


def test_a_red_check_says_how_long_and_how_many() -> None:
    health = judge(HealthSignals(overdue_schedules=3, schedule_seconds=75.9))

    (detail,) = (check.detail for check in health.checks if not check.ok)
    assert "3" in detail
    assert "75 s" in detail
