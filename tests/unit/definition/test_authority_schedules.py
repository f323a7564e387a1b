"""Consent to schedules: what starts an automation more often is asked, the rest is not."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.definition.authority_writes import find_added_triggers, read_enabled_triggers


def added(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    was, now = (
        read_enabled_triggers(
            [{"type": "schedule", "config": {"timezone": "Europe/Berlin", **one}}] if one else []
        )
        for one in (before, after)
    )
    return [sentence for _, sentence in find_added_triggers(was, now, " now")]


DAILY = {"cron": "0 9 * * *"}
HOLIDAYS = {**DAILY, "except": {"holidays": "DE-BY", "dates": ["2099-12-24"]}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (DAILY, {"every": "2d"}),
        (DAILY, {"every": "1d", "anchor": "2026-01-01T09:00"}),
        ({"every": "2d"}, {"every": "2d", "anchor": "2026-01-01T09:00"}),
        ({"every": "60m"}, {"every": "90m"}),
        ({"every": "1h"}, {"every": "3w"}),
        (DAILY, {"at": "2026-11-19T15:00"}),
        ({"at": ["2026-11-19T15:00", "2026-11-20T15:00"]}, {"at": "2026-11-20T15:00"}),
        ({"at": "2026-11-19T15:00"}, {"at": "2026-11-19T14:00:00Z"}),
        (DAILY, HOLIDAYS),
        (DAILY, {**DAILY, "jitter": "5m"}),
        ({"times": [DAILY, {"cron": "0 18 * * *"}]}, DAILY),
        (HOLIDAYS, {"every": "2d"}),
    ],
)
def test_a_rarer_schedule_needs_no_consent(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert added(before, after) == []


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (
            {"every": "2d"},
            {"every": "1d"},
            "It now starts every day at 00:00 (once a day) instead of",
        ),
        ({"every": "3w"}, {"cron": "0 9 * * 1"}, "It now starts once a week instead of"),
        (
            {},
            {"at": "2026-11-19T15:00"},
            "It now starts once, on 19 November 2026 at 15:00 (Europe/Berlin).",
        ),
        (
            {"at": "2026-11-19T15:00"},
            {"at": "2026-11-20T15:00"},
            "It now starts once, on 20 November 2026 at 15:00 (Europe/Berlin).",
        ),
        (
            {"at": ["2026-11-19T15:00", "2026-11-20T15:00"]},
            {"at": "2026-11-21T15:00"},
            "It now starts once, on 21 November 2026 at 15:00 (Europe/Berlin).",
        ),
        (
            DAILY,
            {"times": [DAILY, {"at": "2026-11-19T15:00"}]},
            "It now starts once, on 19 November 2026 at 15:00 (Europe/Berlin).",
        ),
        (DAILY, {"times": [DAILY, {"cron": "0 18 * * *"}]}, "It now starts 2 times a day"),
        (HOLIDAYS, DAILY, "It now also starts on days that were excluded."),
        (
            HOLIDAYS,
            {**DAILY, "except": {"holidays": "DE-BY"}},
            "It now also starts on days that were excluded.",
        ),
        (
            {**DAILY, "except": {"holidays": "DE-BY"}},
            {**DAILY, "except": {"holidays": "DE-BE"}},
            "It now also starts on days that were excluded.",
        ),
    ],
)
def test_more_starts_need_consent(
    before: dict[str, Any], after: dict[str, Any], sentence: str
) -> None:
    (found,) = added(before, after)
    assert found.startswith(sentence)
