"""Health over HTTP: green, red, and green again by itself; numbers for those who may."""

from __future__ import annotations

import asyncio
import re

import pytest

from mainspring import __version__
from mainspring.surfaces.rest.routes import health as routes
from tests.kit.api import Api
from tests.kit.house import Bench, document, step
from tests.kit.people import make_person, token_of

# What was seen of one house must not be told of the next.
pytestmark = pytest.mark.own_app
PLAN = step("one", "transform_data", {"output": 1})
SCHEDULE = {"id": "daily", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}
SAMPLE = re.compile(r'(\w+)(?:\{(?:status|version)="([\w.]+)"\})? (\S+)')


async def _until(api: Api, status: int) -> dict[str, object]:
    async with asyncio.timeout(10):
        while (answer := await api.stranger.get("/api/v1/health")).status_code != status:
            await asyncio.sleep(0.05)
    shown: dict[str, object] = answer.json()
    return shown


async def test_a_well_house_says_so_to_everybody(api: Api) -> None:
    shown = await _until(api, 200)

    assert shown["status"] == "ok"
    assert (await api.stranger.get("/api/v1/health/live")).json() == {"status": "ok"}
    assert (await api.stranger.get("/api/v1/health/ready")).json()["status"] == "ok"


async def test_a_schedule_that_stands_still_turns_health_red_until_it_moves(
    bench: Bench, api: Api
) -> None:
    await bench.save(document(PLAN, triggers=[SCHEDULE]))
    await bench.house.database.execute("UPDATE triggers SET next_due_at = now() - interval '75 s'")

    shown = await _until(api, 503)

    assert shown["status"] == "degraded"
    assert (await api.stranger.get("/api/v1/health/ready")).status_code == 200
    await bench.house.database.execute("UPDATE triggers SET next_due_at = now() + interval '1 d'")
    assert (await _until(api, 200))["status"] == "ok"


async def test_without_its_database_the_server_lives_and_is_down(bench: Bench, api: Api) -> None:
    await bench.house.database.execute("ALTER TABLE workers RENAME TO hidden")

    shown = await _until(api, 503)

    assert shown["status"] == "down"
    assert "workers" not in str(shown)
    assert (await api.stranger.get("/api/v1/health/ready")).status_code == 503
    assert (await api.stranger.get("/api/v1/health/live")).status_code == 200
    await bench.house.database.execute("ALTER TABLE hidden RENAME TO workers")
    assert (await _until(api, 200))["status"] == "ok"


async def test_a_database_that_hangs_is_not_waited_for(
    bench: Bench, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "LOOK_SECONDS", 0.5)
    async with bench.house.database.transaction() as tx:
        await tx.execute("LOCK TABLE workers IN ACCESS EXCLUSIVE MODE")
        async with asyncio.timeout(10):
            assert (await _until(api, 503))["status"] == "down"

    assert (await _until(api, 200))["status"] == "ok"


async def test_the_numbers_are_in_the_text_format_of_prometheus(bench: Bench, api: Api) -> None:
    await bench.run(document(PLAN))
    await bench.dispatch(document(PLAN))

    answer = await api.client.get("/api/v1/metrics")

    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.text.splitlines()
    samples = [SAMPLE.fullmatch(line) for line in lines if not line.startswith("#")]
    found = {(one[1], one[2]): float(one[3]) for one in samples if one is not None}
    assert None not in samples
    assert found["mainspring_runs", "succeeded"] == 1
    assert found["mainspring_runs", "pending"] == 1
    assert found["mainspring_due_runs", None] == 1
    assert found["mainspring_workers", None] == 0
    assert found["mainspring_overdue_schedules", None] == 0
    assert found["mainspring_database_seconds", None] > 0
    assert found["mainspring_disk_bytes", None] >= found["mainspring_disk_free_bytes", None] > 0
    # What the machine has is not for every workspace on it.
    house = bench.house
    user = await make_person(house.database, "eve@example.org", workspace_id=house.workspace_id)
    known = await token_of(house.database, house.workspace_id, user.id)
    theirs = (await api.stranger.get("/api/v1/metrics", headers=known)).text
    assert "mainspring_runs" in theirs
    assert "disk" not in theirs
    assert found["mainspring_info", __version__] == 1
    for name in {name for name, _ in found}:
        assert [line for line in lines if line.startswith(f"# TYPE {name} gauge")]
        assert [line for line in lines if re.match(rf"# HELP {name} \S", line)]
