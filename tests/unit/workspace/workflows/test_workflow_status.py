"""The state of a workflow: numbers against time, days of two weeks, tasks that are near."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from mainspring.workspace.workflows.progress import (
    WorkflowTask,
    build_kpi_scores,
    build_status,
    compute_elapsed,
    compute_progress,
    is_slipping,
    parse_due_span,
)

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 1, 16, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("current", "target", "progress"),
    [
        (None, 10, 0.0),
        (0, 10, 0.0),
        (5, 10, 0.5),
        (15, 10, 1.5),
        (-5, 10, 0.0),
        (-5, -10, 0.5),
        (0, 0, 1.0),
        (3, 0, 0.0),
        (None, 0, 0.0),
        (1e15, 1e-300, 10.0),
    ],
)
def test_progress(current: float | None, target: float, progress: float) -> None:
    assert compute_progress(current, target) == progress


def test_time_passes_from_the_first_day_to_the_end_of_the_last() -> None:
    assert compute_elapsed(BEGAN, None, NOW, UTC) is None
    assert compute_elapsed(BEGAN, "2026-01-31", BEGAN, UTC) == 0.0
    assert compute_elapsed(BEGAN, "2026-01-31", BEGAN - timedelta(days=1), UTC) == 0.0
    assert compute_elapsed(BEGAN, "2026-01-30", NOW, UTC) == pytest.approx(0.5125)
    assert compute_elapsed(BEGAN, "2026-01-15", NOW, UTC) == 1.0
    assert compute_elapsed(BEGAN, "2025-12-01", BEGAN, UTC) == 1.0


def test_what_has_come_less_than_half_as_far_as_the_time_slips() -> None:
    assert is_slipping(0.24, 0.5)
    assert not is_slipping(0.25, 0.5)
    assert not is_slipping(0.0, None)
    assert not is_slipping(0.0, 0.0)


def test_each_kpi_is_one_row_a_day_by_its_own_deadline_or_the_last() -> None:
    kpis = [
        {"name": "late", "target": 100, "current": 10, "unit": "pcs"},
        {"name": "soon", "target": 100, "current": 10, "deadline": "2027-01-01"},
    ]
    deadlines = [{"label": "a", "date": "2026-01-30"}, {"label": "b", "date": "2026-01-20"}]
    late, soon = build_kpi_scores("w", kpis, deadlines, BEGAN, NOW, UTC)
    assert (late["key"], late["slipping"], late["progress"]) == ("2026-01-16 w late", "yes", 0.1)
    assert late["elapsed"] == pytest.approx(0.5125)
    assert (soon["slipping"], soon["unit"], soon["day"]) == ("no", "", "2026-01-16")
    (alone,) = build_kpi_scores("w", kpis[:1], [], BEGAN, NOW, UTC)
    assert (alone["elapsed"], alone["slipping"]) == (None, "no")


def test_all_of_it() -> None:
    days = ("2026-01-08", "2026-01-09", "2026-01-15", "2026-01-16", "2026-01-23", "2026-01-24")
    due = [
        WorkflowTask("1", {"title": "now", "due": "2026-01-16", "owner": "Anna"}),
        WorkflowTask("2", {"title": "tomorrow", "due": "2026-01-17"}),
        WorkflowTask("3", {"due": "2026-01-17T09:00:01Z"}),
        WorkflowTask("4", {"title": "told", "due": "2026-01-17T08:00:00+02:00"}, nudged=True),
        WorkflowTask("5", {"title": "never", "due": "2026-99-17"}),
    ]
    named = [{"label": one, "date": one} for one in days]
    made = build_status("w", [], named, BEGAN, NOW, due, [], UTC)
    assert (made["day"], made["week"]) == ("2026-01-16", "2026-w03")
    assert [one["date"] for one in made["deadlines_passed"]] == ["2026-01-09", "2026-01-15"]
    assert [one["days"] for one in made["deadlines_coming"]] == [0, 7]
    assert [one["title"] for one in made["tasks_due"]] == ["now", "tomorrow", "told"]
    assert [(one["key"], one["owner"], one["overdue"]) for one in made["tasks_to_nudge"]] == [
        ("1 2026-01-16", "Anna", False),
        ("2 2026-01-17", "nobody", False),
    ]


def test_a_day_alone_is_due_from_its_begin_to_its_end() -> None:
    first, last = parse_due_span("2026-01-17", UTC) or (None, None)
    assert first == datetime(2026, 1, 17, tzinfo=UTC)
    assert last == datetime(2026, 1, 17, 23, 59, 59, 999999, tzinfo=UTC)
    moment = datetime(2026, 1, 17, 7, tzinfo=UTC)
    assert parse_due_span("2026-01-17T09:00:00+02:00", UTC) == (moment, moment)
    assert parse_due_span("someday", UTC) is None


def test_days_are_those_of_the_time_zone() -> None:
    """At nine in the morning of Auckland it is still the day before in UTC."""
    zone = ZoneInfo("Pacific/Auckland")
    now = datetime(2026, 1, 18, 20, tzinfo=UTC)
    due = [WorkflowTask(day, {"due": day}) for day in ("2026-01-18", "2026-01-19", "2026-01-20")]
    due.append(WorkflowTask("hour", {"due": "2026-01-19T08:00:00"}))
    ends = [{"label": "a", "date": "2026-01-18"}, {"label": "b", "date": "2026-01-19"}]
    kpis = [{"name": "k", "target": 1, "deadline": "2026-01-18"}]
    made = build_status("w", kpis, ends, BEGAN, now, due, [], zone)
    assert (made["day"], made["week"]) == ("2026-01-19", "2026-w04")
    assert [(one["key"], one["elapsed"]) for one in made["scores"]] == [("2026-01-19 w k", 1.0)]
    assert [one["label"] for one in made["deadlines_passed"]] == ["a"]
    assert [(one["due"], one["overdue"]) for one in made["tasks_to_nudge"]] == [
        ("2026-01-18", True),
        ("2026-01-19", False),
        ("2026-01-20", False),
        ("2026-01-19T08:00:00", True),
    ]


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago", "UTC"])
def test_the_first_and_the_last_day_of_all_are_days_everywhere(zone: str) -> None:
    due = [WorkflowTask(day, {"due": day}) for day in ("0001-01-01", "9999-12-31")]
    made = build_status(
        "w",
        [{"name": "k", "target": 1, "deadline": "9999-12-31"}],
        [{"label": "a", "date": "0001-01-01"}],
        BEGAN,
        NOW,
        due,
        [],
        ZoneInfo(zone),
    )
    assert [one["due"] for one in made["tasks_due"]] == ["0001-01-01"]
    assert made["scores"][0]["slipping"] == "no"
