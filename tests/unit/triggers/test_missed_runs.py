"""Which missed runs are made up for, by the policy of the trigger that missed them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from mainspring.triggers.missed_runs import choose_missed

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
FIRST, SECOND = UUID(int=101), UUID(int=102)


def _missed(number: int, minutes: int, kind: str, trigger: UUID, **config: Any) -> dict[str, Any]:
    return {
        "id": UUID(int=number),
        "trigger_id": trigger,
        "trigger_type": kind,
        "config": config,
        "created_at": NOW - timedelta(minutes=minutes),
    }


def _chosen(*newest_first: dict[str, Any]) -> list[int]:
    return [one.int for one in choose_missed(newest_first, NOW)]


@pytest.mark.parametrize(
    ("config", "chosen"),
    [
        ({}, [3]),
        ({"misfire": "skip"}, []),
        ({"misfire": "fire_all"}, [2, 3]),
        ({"misfire": "fire_all", "catch_up_seconds": 86_400}, [1, 2, 3]),
        ({"misfire": "fire_all", "catch_up_seconds": 0}, []),
    ],
)
def test_a_schedule_makes_up_for_what_its_policy_says(
    config: dict[str, Any], chosen: list[int]
) -> None:
    rows = [_missed(n, m, "schedule", FIRST, **config) for n, m in ((3, 1), (2, 30), (1, 90))]
    assert _chosen(*rows) == chosen


def test_each_trigger_has_its_own_latest_moment_and_calls_are_all_made_up_for() -> None:
    rows = [
        _missed(5, 1, "schedule", FIRST),
        _missed(4, 2, "schedule", SECOND),
        _missed(3, 3, "schedule", FIRST),
        _missed(2, 9_000, "webhook", FIRST),
        _missed(1, 9_001, "event", SECOND),
    ]
    assert _chosen(*rows) == [1, 2, 4, 5]


def test_the_trigger_of_a_missed_run_may_be_gone() -> None:
    assert _chosen({**_missed(1, 1, "schedule", FIRST), "config": None}) == [1]
