"""Health over HTTP: green, red, and green again by itself; numbers for those who may."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from mainspring import __version__
from mainspring.surfaces.rest.routes import health as routes
from tests.kit.api import Api
from tests.kit.bench import Bench, document, step
from tests.kit.people import make_person, token_of
from tests.kit.prometheus import read_metrics, value

# What was seen of one application must not be reported for the next.
pytestmark = pytest.mark.own_app
PLAN = step("one", "transform_data", {"output": 1})
SCHEDULE = {"id": "daily", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}


async def _until(api: Api, status: int) -> dict[str, object]:
    async with asyncio.timeout(60):
        while (answer := await api.anonymous.get("/api/v1/health")).status_code != status:
            await asyncio.sleep(0.05)
    shown: dict[str, object] = answer.json()
    return shown


async def test_a_healthy_installation_says_so_to_everybody(api: Api) -> None:
    shown = await _until(api, 200)

    assert (shown["status"], shown["version"]) == ("ok", __version__)
    assert (await api.anonymous.get("/api/v1/health/live")).json() == {"status": "ok"}
    assert (await api.anonymous.get("/api/v1/health/ready")).json()["status"] == "ok"


async def test_a_schedule_that_stalls_turns_health_red_until_it_moves(
    bench: Bench, api: Api
) -> None:
    await bench.save(document(PLAN, triggers=[SCHEDULE]))
    await bench.application.database.execute(
        "UPDATE triggers SET next_due_at = now() - interval '75 s'"
    )

    shown = await _until(api, 503)

    assert shown["status"] == "degraded"
    assert (await api.anonymous.get("/api/v1/health/ready")).status_code == 200
    await bench.application.database.execute(
        "UPDATE triggers SET next_due_at = now() + interval '1 d'"
    )
    assert (await _until(api, 200))["status"] == "ok"


async def test_without_its_database_the_server_lives_and_is_down(bench: Bench, api: Api) -> None:
    await bench.application.database.execute("ALTER TABLE workers RENAME TO hidden")

    shown = await _until(api, 503)

    assert shown["status"] == "down"
    assert "workers" not in str(shown)
    assert (await api.anonymous.get("/api/v1/health/ready")).status_code == 503
    assert (await api.anonymous.get("/api/v1/health/live")).status_code == 200
    await bench.application.database.execute("ALTER TABLE hidden RENAME TO workers")
    assert (await _until(api, 200))["status"] == "ok"


async def test_a_database_that_hangs_is_not_waited_for(
    bench: Bench, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "LOOK_SECONDS", 0.5)
    async with bench.application.database.transaction() as tx:
        await tx.execute("LOCK TABLE workers IN ACCESS EXCLUSIVE MODE")
        async with asyncio.timeout(60):
            assert (await _until(api, 503))["status"] == "down"

    assert (await _until(api, 200))["status"] == "ok"


async def test_a_database_whose_processes_stall_is_not_waited_for(
    bench: Bench, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _until(api, 200)
    monkeypatch.setattr(routes, "LOOK_SECONDS", 0.5)
    monkeypatch.setattr(routes, "_FRESH_SECONDS", 0.0)
    ours = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    pids = [row["pid"] for row in await bench.application.database.fetch(ours)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        # Not even that a question was taken back is heard by them.
        async with asyncio.timeout(60):
            answer = await api.anonymous.get("/readyz")
            assert (answer.status_code, answer.json()["status"]) == (503, "down")
            assert (await api.anonymous.get("/livez")).status_code == 200
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    assert (await _until(api, 200))["status"] == "ok"


async def test_the_numbers_are_in_the_text_format_of_prometheus(bench: Bench, api: Api) -> None:
    await bench.run(document(PLAN))
    before = read_metrics((await api.client.get("/api/v1/metrics")).text)
    await bench.run(document(PLAN, name="another"))
    await bench.dispatch(document(PLAN, name="a third"))

    answer = await api.client.get("/api/v1/metrics")

    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = read_metrics(answer.text)
    assert value(found, "mainspring_runs", status="succeeded") == 2
    assert value(found, "mainspring_runs", status="pending") == 1
    # A counter begins with the first look and only ever grows.
    assert value(before, "mainspring_runs_finished_total", status="succeeded") == 0
    assert value(found, "mainspring_runs_finished_total", status="succeeded") == 1
    assert value(found, "mainspring_runs_finished_total", status="failed") == 0
    assert value(found, "mainspring_due_runs") == 1
    assert value(found, "mainspring_queue_due_runs", queue="fast") == 1
    assert value(found, "mainspring_queue_due_runs", queue="long") == 0
    assert value(found, "mainspring_queue_slots", queue="fast") == 0
    assert value(found, "mainspring_workers") == 0
    assert value(found, "mainspring_overdue_schedules") == 0
    assert value(found, "mainspring_database_seconds") > 0
    free = value(found, "mainspring_disk_free_bytes")
    assert value(found, "mainspring_disk_bytes") >= free > 0
    assert value(found, "process_resident_memory_bytes") > 1_000_000
    assert value(found, "mainspring_database_bytes") > 1_000_000
    assert value(found, "mainspring_pool_connections", state="used") >= 0
    assert value(found, "mainspring_info", version=__version__) == 1
    asked = {"method": "GET", "route": "/api/v1/metrics", "status": "200"}
    assert value(found, "mainspring_http_requests_total", **asked) == 1
    # What the machine has is not for every workspace on it.
    application = bench.application
    user = await make_person(
        application.database, "eve@example.org", workspace_id=application.workspace_id
    )
    known = await token_of(application.database, application.workspace_id, user.id)
    theirs = (await api.anonymous.get("/api/v1/metrics", headers=known)).text
    assert "mainspring_runs" in theirs
    for secret in ("disk", "process_", "http_requests", "database_bytes"):
        assert secret not in theirs


async def test_metrics_say_how_long_runs_and_steps_took_and_what_was_spent(
    bench: Bench, api: Api
) -> None:
    await api.client.get("/api/v1/metrics")
    run = await bench.run(document(PLAN))
    took = (run["finished_at"] - run["started_at"]).total_seconds()
    await bench.application.database.execute(
        "INSERT INTO spend (workspace_id, automation_id, day, usd)"
        " VALUES ($1, $2, (now() AT TIME ZONE 'UTC')::date, 1.25)",
        bench.application.workspace_id,
        run["automation_id"],
    )
    user = await make_person(
        bench.application.database, "eve@example.org", workspace_id=bench.application.workspace_id
    )
    known = await token_of(bench.application.database, bench.application.workspace_id, user.id)

    for headers in ({}, known):
        client = api.anonymous if headers else api.client
        found = read_metrics((await client.get("/api/v1/metrics", headers=headers)).text)
        for name in ("run", "step"):
            counted = value(found, f"mainspring_{name}_seconds", of="_count")
            assert counted == 1
            assert value(found, f"mainspring_{name}_seconds", of="_bucket", le="+Inf") == 1
            assert value(found, f"mainspring_{name}_seconds", of="_sum") <= took + 1
        seconds = value(found, "mainspring_run_seconds", of="_sum")
        assert seconds == pytest.approx(took, abs=0.001)
        assert value(found, "mainspring_spend_usd", period="day") == 1.25
        assert value(found, "mainspring_spend_usd", period="month") == 1.25


async def test_mcp_requests_are_counted_by_their_route(api: Api) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert (await api.program.post("/mcp", json=ping)).status_code == 200
    assert (await api.anonymous.post("/mcp", json=ping)).status_code == 401

    found = read_metrics((await api.client.get("/api/v1/metrics")).text)
    for status in ("200", "401"):
        asked = {"method": "POST", "route": "/mcp", "status": status}
        assert value(found, "mainspring_http_requests_total", **asked) == 1
    counted = found["mainspring_http_requests_total"].samples
    assert not [labels for _, labels in counted if ("route", "none") in labels]


async def test_who_is_about_to_stop_says_so_before_it_does(bench: Bench, api: Api) -> None:
    assert (await api.anonymous.get("/readyz")).json()["status"] == "ok"
    assert (await api.anonymous.get("/livez")).json() == {"status": "ok"}
    assert (await api.anonymous.get("/healthz")).json()["status"] == "ok"

    api.app.state.closing.set()

    for address in ("/readyz", "/api/v1/health/ready"):
        answer = await api.anonymous.get(address)
        assert answer.status_code == 503
        assert [one["name"] for one in answer.json()["checks"] if not one["ok"]] == ["staying"]
    assert (await api.anonymous.get("/livez")).status_code == 200


async def test_a_newer_database_makes_this_process_unready(bench: Bench, api: Api) -> None:
    await bench.application.database.execute(
        "INSERT INTO schema_migrations (version, name, checksum) VALUES (9999, 'later', '')"
    )

    answer = await api.anonymous.get("/readyz")

    assert answer.status_code == 503
    assert "newer" in answer.text
    assert (await api.anonymous.get("/healthz")).status_code == 200


async def test_a_request_keeps_the_id_that_it_came_with_if_that_can_do_no_harm(api: Api) -> None:
    async def told(given: str) -> str:
        answer = await api.anonymous.get("/livez", headers={"X-Request-Id": given})
        return str(answer.headers["X-Request-Id"])

    assert await told("0af76519-16cd.43dd") == "0af76519-16cd.43dd"
    for bad in ("short", "with spaces in it", "a" * 200, "msk_looks_like_a_token"):
        assert await told(bad) != bad
