"""How a workflow stands: numbers against time, days of two weeks, tasks that are near."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mainspring.workspace.workflows.standing import (
    Task,
    due_at,
    elapsed_of,
    progress_of,
    scores,
    slips,
    standing,
)

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 1, 16, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("current", "target", "progress"),
    [
        (None, 10, 0.0), (0, 10, 0.0), (5, 10, 0.5), (15, 10, 1.5), (-5, 10, 0.0),
        (-5, -10, 0.5), (0, 0, 1.0), (3, 0, 0.0), (None, 0, 0.0), (1e15, 1e-300, 10.0),
    ],
)  # fmt: skip
def test_progress(current: float | None, target: float, progress: float) -> None:
    assert progress_of(current, target) == progress


def test_time_passes_from_the_first_day_to_the_end_of_the_last() -> None:
    assert elapsed_of(BEGAN, None, NOW) is None
    assert elapsed_of(BEGAN, "2026-01-31", BEGAN) == 0.0
    assert elapsed_of(BEGAN, "2026-01-31", BEGAN - timedelta(days=1)) == 0.0
    assert elapsed_of(BEGAN, "2026-01-30", NOW) == pytest.approx(0.5125)
    assert elapsed_of(BEGAN, "2026-01-15", NOW) == 1.0
    assert elapsed_of(BEGAN, "2025-12-01", BEGAN) == 1.0


def test_what_has_come_less_than_half_as_far_as_the_time_slips() -> None:
    assert slips(0.24, 0.5)
    assert not slips(0.25, 0.5)
    assert not slips(0.0, None)
    assert not slips(0.0, 0.0)


def test_each_kpi_is_one_row_a_day_by_its_own_deadline_or_the_last() -> None:
    kpis = [
        {"name": "late", "target": 100, "current": 10, "unit": "pcs"},
        {"name": "soon", "target": 100, "current": 10, "deadline": "2027-01-01"},
    ]
    deadlines = [{"label": "a", "date": "2026-01-30"}, {"label": "b", "date": "2026-01-20"}]
    late, soon = scores("w", kpis, deadlines, BEGAN, NOW)
    assert (late["key"], late["slipping"], late["progress"]) == ("2026-01-16 w late", "yes", 0.1)
    assert late["elapsed"] == pytest.approx(0.5125)
    assert (soon["slipping"], soon["unit"], soon["day"]) == ("no", "", "2026-01-16")
    (alone,) = scores("w", kpis[:1], [], BEGAN, NOW)
    assert (alone["elapsed"], alone["slipping"]) == (None, "no")


def test_all_of_it() -> None:
    days = ("2026-01-08", "2026-01-09", "2026-01-15", "2026-01-16", "2026-01-23", "2026-01-24")
    due = [
        Task("1", {"title": "now", "due": "2026-01-16", "owner": "Anna"}),
        Task("2", {"title": "tomorrow", "due": "2026-01-17"}),
        Task("3", {"due": "2026-01-17T09:00:01Z"}),
        Task("4", {"title": "told", "due": "2026-01-17T08:00:00+02:00"}, nudged=True),
        Task("5", {"title": "never", "due": "2026-99-17"}),
    ]
    made = standing("w", [], [{"label": one, "date": one} for one in days], BEGAN, NOW, due, [])
    assert (made["day"], made["week"]) == ("2026-01-16", "2026-w03")
    assert [one["date"] for one in made["deadlines_passed"]] == ["2026-01-09", "2026-01-15"]
    assert [one["days"] for one in made["deadlines_coming"]] == [0, 7]
    assert [one["title"] for one in made["tasks_due"]] == ["now", "tomorrow", "told"]
    assert [(one["key"], one["owner"], one["overdue"]) for one in made["tasks_to_nudge"]] == [
        ("1 2026-01-16", "Anna", True),
        ("2 2026-01-17", "nobody", False),
    ]


def test_a_day_alone_is_due_when_it_begins() -> None:
    assert due_at("2026-01-17") == datetime(2026, 1, 17, tzinfo=UTC)
    assert due_at("2026-01-17T09:00:00+02:00") == datetime(2026, 1, 17, 7, tzinfo=UTC)
    assert due_at("someday") is None
