"""Runs by the transport celery: a real Redis, and workers that are processes of their own.

The workers look by themselves every ten minutes only, so a run that ends was hinted at.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from mainspring.runs.run_requests import RunRequest
from mainspring.runs.transport.broker import MOST_IN_LINE, QUEUES, TASK, Broker, broker_of
from mainspring.runs.transport.celery_sender import PORTION, CeleryHintSender
from mainspring.workspace.automations import SavedAutomation
from tests.kit.bench import Bench, document, step
from tests.kit.configured_bench import open_own_application
from tests.kit.processes import ROOT
from tests.kit.redis import RedisServer, running_redis

PATIENCE = 90.0
_SECONDS_OF_POLL = 600.0
QUICK = document(step("one", "transform_data", {"output": {"x": 1}}), name="quick")
SLEEPY = document(
    step("wait", "delay", {"seconds": 0.2}),
    step("two", "transform_data", {"output": 2}),
    name="sleepy",
)
# Agents take a while, so their runs are medium ones.
MEDIUM = document(step("think", "agent_task", {"prompt": "Say nothing."}), name="medium")


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


@pytest.fixture
async def fleet(bench: Bench, redis_server: RedisServer) -> AsyncIterator[Bench]:
    """An application whose runs are reported by the broker."""
    redis_server.client().flushall()
    async with open_own_application(
        bench, transport="celery", broker_url=redis_server.url, poll_seconds=_SECONDS_OF_POLL
    ) as own_bench:
        yield own_bench


@contextlib.asynccontextmanager
async def worker_process(
    fleet: Bench, tmp_path: Path, *text: str, poll: float = _SECONDS_OF_POLL, ready: bool = True
) -> AsyncIterator[subprocess.Popen[str]]:
    """``mainspring worker`` as people start it; ready once it listens to the broker."""
    process = _started(fleet, tmp_path, text, poll)
    try:
        if ready:
            await _until_heard(fleet, process)
        yield process
    finally:
        process.kill()
        process.communicate()


def _started(fleet: Bench, home: Path, words: Sequence[str], poll: float) -> subprocess.Popen[str]:
    settings = fleet.application.settings
    return subprocess.Popen(
        [sys.executable, "-m", "mainspring", "worker", *words],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "MAINSPRING_HOME": str(home),
            "MAINSPRING_DATABASE_URL": settings.database_url or "",
            "MAINSPRING_TRANSPORT": "celery",
            "MAINSPRING_BROKER_URL": settings.broker_url or "",
            "MAINSPRING_POLL_SECONDS": str(poll),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


async def _until_heard(fleet: Bench, process: subprocess.Popen[str]) -> None:
    """A worker of Celery that takes messages hears remote control as well."""
    client = RedisServer(Path(), _port(fleet)).client()
    async with asyncio.timeout(PATIENCE):
        while not client.pubsub_numpat():
            assert process.poll() is None, process.communicate()
            await asyncio.sleep(0.05)


def _ears(client: Any) -> list[str]:
    """The connections that hear remote control: one for each worker's life."""
    return [one["id"] for one in client.client_list() if one["psub"] != "0"]


def _port(fleet: Bench) -> int:
    return int((fleet.application.settings.broker_url or "").rpartition(":")[2].partition("/")[0])


async def _fire(fleet: Bench, saved: SavedAutomation, times: int = 1) -> list[UUID]:
    requests = [
        RunRequest(fleet.application.workspace_id, saved.automation_id) for _ in range(times)
    ]
    return [made.run_id for made in await fleet.application.dispatcher.dispatch_all(requests)]


async def test_a_hint_alone_brings_a_worker_and_nonsense_changes_nothing(
    fleet: Bench, redis_server: RedisServer, tmp_path: Path
) -> None:
    quick, sleepy, medium = [await fleet.save(one) for one in (QUICK, SLEEPY, MEDIUM)]
    client = redis_server.client()
    async with worker_process(fleet, tmp_path, "--queues", "fast,long") as process:
        connected = _ears(client)
        [first] = await _fire(fleet, quick)
        assert (await fleet.until(first, patience=PATIENCE))["status"] == "succeeded"
        [again] = await _fire(fleet, quick)
        assert (await fleet.until(again, patience=PATIENCE))["status"] == "succeeded"
        # It got a hint: one that had to connect again would have looked for that reason.
        assert _ears(client) == connected

        # A worker of other queues gets no hint, and does not take it when it looks.
        [other] = await _fire(fleet, medium)
        client.lpush(QUEUES["fast"], *_nonsense(str(first)))
        async with asyncio.timeout(PATIENCE):
            while client.llen(QUEUES["fast"]) or client.hlen("unacked"):
                await asyncio.sleep(0.05)
        [second] = await _fire(fleet, sleepy)
        assert (await fleet.until(second, patience=PATIENCE))["status"] == "succeeded"
        # It connects again after some of these, and looks then; now it has to hear.
        connected = _ears(client)
        [third] = await _fire(fleet, quick)
        assert (await fleet.until(third, patience=PATIENCE))["status"] == "succeeded"
        assert _ears(client) == connected
        assert (await fleet.read(other))["status"] == "pending"
        assert client.llen(QUEUES["medium"]) == 1
        assert (await fleet.read(first))["attempt"] == 1

        # As `celery control shutdown` does.
        await asyncio.to_thread(_broker(fleet).sending().control.shutdown)
        assert await asyncio.to_thread(process.wait, PATIENCE) == 0
        assert not await fleet.application.database.fetchval("SELECT count(*) FROM workers")


async def test_many_runs_are_few_messages_and_a_line_that_nobody_takes_from_ends(
    fleet: Bench, redis_server: RedisServer
) -> None:
    client, name = redis_server.client(), QUEUES["fast"]
    saved = await fleet.save({**QUICK, "execution": {"concurrency": "allow_parallel"}})
    runs = await _fire(fleet, saved, PORTION * 3)
    async with asyncio.timeout(PATIENCE):
        while client.llen(name) < 3:
            await asyncio.sleep(0.01)
    messages = [json.loads(text) for text in client.lrange(name, 0, -1)]
    result = [json.loads(base64.b64decode(one["body"]))[0][0] for one in messages]

    assert {one["headers"]["task"] for one in messages} == {TASK}
    assert all(one["headers"]["expires"] for one in messages)
    assert sorted(itertools.chain(*result)) == sorted(map(str, runs))
    assert max(map(len, result)) <= PORTION

    client.rpush(name, *["{}"] * MOST_IN_LINE)
    hints = CeleryHintSender(_broker(fleet))
    hints.due([("fast", runs[0])])
    await hints.aclose()
    assert client.llen(name) == MOST_IN_LINE + len(messages)


async def test_a_broker_that_is_away_costs_time_and_nothing_else(
    fleet: Bench, redis_server: RedisServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    saved = await fleet.save(QUICK)
    redis_server.stop()
    async with worker_process(fleet, tmp_path, poll=0.5, ready=False) as process:
        with caplog.at_level(logging.WARNING, "mainspring"):
            runs = [(await _fire(fleet, saved))[0] for _ in range(3)]
            for run_id in runs:
                assert (await fleet.until(run_id, patience=PATIENCE))["status"] == "succeeded"
            broker = _broker(fleet)
            await _until_logged(caplog, broker.gone, fleet, saved)
            redis_server.start()
            await _until_logged(caplog, broker.back, fleet, saved)
        process.send_signal(signal.SIGTERM)
        _, result = await asyncio.to_thread(process.communicate, None, PATIENCE)

    assert process.returncode == 0
    assert (_times(caplog, broker.gone), _times(caplog, broker.back)) == (1, 1)
    # Whether it was up before the broker came back is not for us to say.
    assert result.count("cannot be reached") <= 1
    assert "Traceback" not in result


async def _until_logged(
    caplog: pytest.LogCaptureFixture, text: str, fleet: Bench, saved: SavedAutomation
) -> None:
    async with asyncio.timeout(PATIENCE):
        while not _times(caplog, text):
            await _fire(fleet, saved)
            await asyncio.sleep(0.1)


def _times(caplog: pytest.LogCaptureFixture, text: str) -> int:
    return sum(text == record.getMessage() for record in caplog.records)


def _broker(fleet: Bench) -> Broker:
    broker = broker_of(fleet.application.settings)
    assert broker is not None
    return broker


def _nonsense(run_id: str) -> Iterator[str]:
    """Doubled, forged, of another task, in another language, and no message at all."""
    headers = {
        "lang": "py",
        "task": TASK,
        "id": run_id,
        "root_id": run_id,
        "parent_id": None,
        "group": None,
        "retries": 0,
        "eta": None,
        "expires": None,
    }
    properties = {
        "correlation_id": run_id,
        "delivery_mode": 1,
        "delivery_info": {"exchange": "", "routing_key": QUEUES["fast"]},
        "priority": 0,
        "body_encoding": "base64",
    }

    def message(body: Any, kind: str = "application/json", **more: Any) -> str:
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        return json.dumps(
            {
                "body": base64.b64encode(text).decode(),
                "content-encoding": "utf-8",
                "content-type": kind,
                "headers": {**headers, **more},
                "properties": {**properties, "delivery_tag": str(uuid4())},
            }
        )

    embed = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
    fine = [[[run_id]], {}, embed]
    yield from (message(fine) for _ in range(2))
    yield message([[{"not": "ids"}], {"surprise": 1}, embed])
    # These Celery answers by itself.
    yield message([[], {}, embed], task="os.system")
    yield message(b"cos\nsystem\n(S'true'\ntR.", "application/x-python-serialize")
    yield message(b"\xff\xfe{", "application/json")
    yield message(fine, eta="soon")
    # These it does not foresee.
    yield from (message(body) for body in ("just words", 5, None, [1], {"args": 3}))
    strange: tuple[Any, ...] = (None, {}, 7)
    yield from (message(fine, task=task) for task in strange)
    yield message(fine, id={"a": 1}, retries="many", timelimit=3)
    # These are no messages.
    yield from ("no message", "{}", "[]", "5", '{"properties": {"delivery_tag": []}}')
