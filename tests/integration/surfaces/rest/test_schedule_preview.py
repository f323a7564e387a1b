"""Next fire times over REST: previewed, listed, and those that the scheduler waits for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mainspring.definition.schedules import parse_schedule
from tests.integration.triggers.test_schedule import armed, due_of
from tests.kit.api import Api
from tests.kit.bench import Bench

V1 = "/api/v1"


@pytest.mark.parametrize(
    "config",
    [
        {"cron": "0 9 * * 1-5"},
        {"at": ["2190-01-01T09:00", "2190-01-02T09:00"]},
        {"every": "2d", "anchor": "2026-11-02T09:00"},
        {"times": [{"cron": "0 9 * * *"}, {"every": "7h"}]},
        {"cron": "0 9 * * *", "except": {"holidays": "DE-BY"}},
    ],
)
async def test_the_preview_the_trigger_and_the_scheduler_name_the_same_times(
    api: Api, bench: Bench, config: dict[str, Any]
) -> None:
    config = {**config, "timezone": "Europe/Berlin"}
    automation = await armed(bench, {"id": "clock", "type": "schedule", "config": config})
    body = {"config": config, "count": 5}
    previewed = (await api.client.post(f"{V1}/schedules/preview", json=body)).json()
    trigger = (await api.client.get(f"{V1}/automations/{automation}/triggers/clock")).json()
    times = [datetime.fromisoformat(one) for one in previewed["next_fires"]]
    assert times == [datetime.fromisoformat(one) for one in trigger["next_fires"]]
    assert times == parse_schedule(config).next_fire_times(datetime.now(UTC), 5)
    assert times[0] == await due_of(bench)
    assert previewed["timezone"] == "Europe/Berlin"
    assert previewed["sentence"].endswith("(Europe/Berlin)")


async def test_a_trigger_with_jitter_lists_the_times_that_fire(api: Api, bench: Bench) -> None:
    config = {"every": "1h", "jitter": "30m", "timezone": "UTC"}
    automation = await armed(bench, {"id": "clock", "type": "schedule", "config": config})
    trigger = (await api.client.get(f"{V1}/automations/{automation}/triggers/clock")).json()
    assert datetime.fromisoformat(trigger["next_fires"][0]) == await due_of(bench)


@pytest.mark.parametrize(
    ("config", "pointer", "code"),
    [
        ({"every": "10s", "timezone": "UTC"}, "/config/every", "schedule_interval"),
        ({"every": "2d"}, "/config/timezone", "required"),
        ({"cron": "@daily", "timezone": "Mars/Base"}, "/config/timezone", "unknown_timezone"),
        (
            {"cron": "@daily", "timezone": "UTC", "except": {"holidays": "DE-XX"}},
            "/config/except/holidays",
            "unknown_holidays",
        ),
    ],
)
async def test_a_config_that_is_no_schedule_is_refused_at_its_place(
    api: Api, config: dict[str, Any], pointer: str, code: str
) -> None:
    answer = await api.client.post(f"{V1}/schedules/preview", json={"config": config})
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert (error["pointer"], error["code"]) == (pointer, code)
