"""A full disk: one problem on every path, a red readiness, and all well again by itself."""

from __future__ import annotations

import asyncio
import errno
import shutil
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest

from mainspring.store.database_errors import database_unavailable_error
from mainspring.surfaces.rest.request_bodies import JsonAnswer
from mainspring.surfaces.rest.route_access import public
from mainspring.surfaces.rest.router import router
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, step
from tests.kit.full_disk import full_disk, install_full_disk
from tests.kit.mcp import RawMcpClient
from tests.kit.webhooks import hook

# What was seen of one application must not be reported for the next.
pytestmark = pytest.mark.own_app
PLAN = step("one", "transform_data", {"output": 1})
BOARD = {"name": "Tasks"}


def _judge(answer: httpx2.Response) -> None:
    shown = answer.json()
    assert (answer.status_code, shown["code"]) == (507, "storage_full"), answer.text
    assert shown["type"] == "urn:mainspring:problem:storage_full"
    assert "space" in shown["suggestion"]
    assert int(answer.headers["Retry-After"]) > 0
    assert answer.headers["Content-Type"] == "application/problem+json"


async def _until(api: Api, path: str, status: int) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while (answer := await api.anonymous.get(path)).status_code != status:
            await asyncio.sleep(0.1)
    shown: dict[str, Any] = answer.json()
    return shown


def _storage(shown: dict[str, Any]) -> bool:
    (ok,) = [check["ok"] for check in shown["checks"] if check["name"] == "storage"]
    return bool(ok)


async def test_every_write_answers_507_and_readiness_follows(bench: Bench, api: Api) -> None:
    stored = (await api.client.post("/api/v1/boards", json=BOARD)).json()
    saved = await bench.save(document(PLAN))
    called = await hook(bench, api)
    writes: Sequence[tuple[str, str, Any]] = [
        ("POST", "/boards", {**BOARD, "name": "More"}),
        ("POST", f"/boards/{stored['id']}/rows", {"rows": [{"title": "x"}]}),
        ("POST", f"/automations/{saved.automation_id}/run", {}),
        ("POST", "/automations", document(PLAN, name="another")),
        ("POST", "/pages", {"title": "A page", "content": "Words."}),
        ("POST", "/secrets", {"name": "some_key", "value": "s"}),
    ]
    assert _storage(await _until(api, "/api/v1/health/ready", 200))
    await install_full_disk(bench.application.database)

    async with full_disk(bench.application.database):
        for method, path, body in writes:
            _judge(await api.client.request(method, f"/api/v1{path}", json=body))
        _judge(await called.fire({"a": 1}))
        wire = RawMcpClient(api.anonymous, api.address, api.token)
        result = await wire.send("tools/call", {"name": "create_board", "arguments": BOARD})
        assert "no disk space left" in result.text
        assert (await api.client.get("/api/v1/automations")).status_code == 200
        for path in ("/api/v1/health/ready", "/api/v1/health", "/readyz", "/healthz"):
            assert not _storage(await _until(api, path, 503))
        assert (await api.anonymous.get("/api/v1/health/live")).status_code == 200

    assert (await called.fire({"a": 1})).status_code == 202
    assert (await api.client.post("/api/v1/boards", json=BOARD)).status_code in {200, 201}
    for path in ("/api/v1/health/ready", "/api/v1/health", "/readyz", "/healthz"):
        assert _storage(await _until(api, path, 200))


async def test_runs_under_way_wait_for_space_and_then_go_on(bench: Bench) -> None:
    """What a step has done is on record once there is space; it is not done again."""
    made = await bench.dispatch(document(step("a", "test.hang"), step("b", "test.note")))
    await install_full_disk(bench.application.database)
    async with bench.worker(heartbeat_seconds=60.0, lease_seconds=120.0):
        await bench.outside.started.wait()
        async with full_disk(bench.application.database):
            bench.outside.release.set()
            async with asyncio.timeout(60):
                while not await bench.application.database.storage.is_full(
                    bench.application.database
                ):
                    await asyncio.sleep(0.01)
        run = await bench.until(made.run_id)
    assert (run["status"], run["takeovers"]) == ("succeeded", 0)
    assert bench.outside.tries == {f"{made.run_id}/a/1": 1}
    assert bench.outside.keys == {f"{made.run_id}/b/1": 1}


async def test_a_data_folder_without_space_is_the_same_problem(bench: Bench) -> None:
    """A file of our own that cannot be written, such as one that a run saves."""
    made = router("files")

    @made.post("/files")
    @public
    async def write_file() -> JsonAnswer:
        raise OSError(errno.ENOSPC, "No space left on device", "/var/lib/mainspring/artifacts/x")

    async with served(bench.application, [made]) as api:
        _judge(await api.anonymous.post("/api/v1/files"))


@pytest.mark.parametrize("free", [0, 1 << 30])
async def test_a_database_that_ended_for_lack_of_space_is_the_same_problem(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, free: int
) -> None:
    """Postgres ends when it cannot write its own log; on our disk we can see why."""
    made = router("files")

    @made.post("/files")
    @public
    async def ask_database() -> JsonAnswer:
        raise database_unavailable_error()

    async with served(bench.application, [made]) as api:
        found = shutil.disk_usage(bench.application.settings.home)._replace(free=free)
        monkeypatch.setattr("shutil.disk_usage", lambda _: found)
        answer = await api.anonymous.post("/api/v1/files")
        if free:
            assert (answer.status_code, answer.json()["code"]) == (502, "database_unavailable")
            return
        _judge(answer)
        assert not _storage(await _until(api, "/api/v1/health/ready", 503))
