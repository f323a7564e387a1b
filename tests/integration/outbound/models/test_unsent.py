"""An ask that never left costs nothing, and loading libraries takes none of a run's time."""

from __future__ import annotations

import asyncio
import importlib
import importlib.abc
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pytest

from mainspring.gate.embedder import OpenAIEmbedder
from mainspring.outbound.models import model_client
from tests.kit.bench import Bench, document, step
from tests.kit.model_connections import KEY, Providing, providing
from tests.kit.model_doubles import LLM
from tests.kit.model_server import Answer, model_server

SDK = "mainspring.outbound.models.sdk"
PRICE = {"input_usd_per_million": 3, "output_usd_per_million": 15}


@dataclass(slots=True)
class Silence:
    """A server that takes whatever comes and never answers."""

    pair: str = ""
    heard: bytes = b""
    called: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65_536):
            self.heard += piece
            self.called.set()
        writer.close()


@asynccontextmanager
async def silent() -> AsyncIterator[Silence]:
    made = Silence()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.pair = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()


def _plan(**more: Any) -> dict[str, Any]:
    given = {"prompt": "Hello", "max_tokens": 50, "model": "own/m"}
    return document(step("ask", LLM, given, max_retries=0, **more))


async def _connect(connected_bench: Providing, base_url: str) -> None:
    await connected_bench.call(
        "connect_model", name="own", kind="compatible", base_url=base_url, key=KEY, models=["m"]
    )
    await connected_bench.call(
        "admin_set_model_price", connected_bench.operator, model="m", **PRICE
    )


async def _booked(connected_bench: Providing) -> tuple[int, int]:
    """Rows of the ledger, and promises that are still open."""
    database = connected_bench.application.database
    return (
        await database.fetchval("SELECT count(*) FROM llm_usage"),
        await database.fetchval("SELECT count(*) FROM reservations WHERE spent IS NULL"),
    )


# Over https nothing but the handshake leaves, which is no request yet.
@pytest.mark.parametrize(("scheme", "rows"), [("https", 0), ("http", 1)])
@pytest.mark.parametrize("end", ["step", "person"])
async def test_what_never_left_is_not_booked_and_what_left_is(
    bench: Bench, scheme: str, rows: int, end: str
) -> None:
    await asyncio.to_thread(importlib.import_module, SDK)
    async with silent() as server, providing(bench, [server.pair]) as connected_bench:
        await _connect(connected_bench, f"{scheme}://{server.pair}/v1")
        made = await connected_bench.dispatch(
            _plan(**({"timeout_seconds": 2} if end == "step" else {}))
        )
        async with connected_bench.worker():
            await asyncio.wait_for(server.called.wait(), 20)
            if end == "person":
                await connected_bench.application.control.cancel(
                    connected_bench.application.workspace_id, made.run_id
                )
            run = await connected_bench.until(made.run_id)
        assert (b"Hello" in server.heard) == bool(rows)
        assert await _booked(connected_bench) == (rows, 0)
    assert run["status"] == {"step": "timed_out", "person": "cancelled"}[end]
    assert (run["cost_usd"] > 0) == bool(rows)


@pytest.mark.parametrize(("scheme", "rows"), [("https", 0), ("http", 1)])
async def test_vectors_that_were_never_asked_for_are_not_booked(
    bench: Bench, scheme: str, rows: int
) -> None:
    await asyncio.to_thread(importlib.import_module, SDK)
    async with silent() as server, providing(bench, [server.pair]) as connected_bench:
        address = f"{scheme}://{server.pair}/v1"
        given = {"name": "openai", "base_url": address, "key": KEY}
        await connected_bench.call("admin_connect_model", connected_bench.operator, **given)
        inside = connected_bench.application
        model = OpenAIEmbedder(inside.database, inside.providers, inside.clock)
        asking = asyncio.create_task(model.embed(inside.workspace_id, ["word"]))
        await asyncio.wait_for(server.called.wait(), 20)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert await _booked(connected_bench) == (rows, 0)


class SlowLoading(importlib.abc.MetaPathFinder):
    """Lets the import of one module take a while."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name, self.seconds, self.asked = name, seconds, 0

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if name == self.name:
            self.asked += 1
            time.sleep(self.seconds)
        return None


@pytest.fixture
def slow_loading(monkeypatch: pytest.MonkeyPatch) -> SlowLoading:
    """The libraries have not been loaded in this process, and load for four seconds."""
    slow = SlowLoading(SDK, 4.0)
    monkeypatch.delitem(sys.modules, SDK, raising=False)
    monkeypatch.setattr(model_client, "_loaded", [], raising=False)
    monkeypatch.setattr(sys, "meta_path", [slow, *sys.meta_path])
    return slow


async def test_the_first_ask_of_a_process_does_not_load_libraries_in_the_time_of_its_run(
    bench: Bench, slow_loading: SlowLoading
) -> None:
    answer = Answer("Yes.", input_tokens=10, output_tokens=1, keep=True)
    async with (
        model_server([answer], key=KEY) as server,
        providing(bench, [server.pair]) as connected_bench,
    ):
        await _connect(connected_bench, server.openai_url)
        plan = {**_plan(timeout_seconds=3), "execution": {"timeout_seconds": 3}}
        run = await connected_bench.run(plan)
        assert await _booked(connected_bench) == (1, 0)
    assert slow_loading.asked == 1
    assert (run["status"], run["output"]["text"]) == ("succeeded", "Yes.")


async def test_a_run_that_asks_no_model_loads_nothing(
    bench: Bench, slow_loading: SlowLoading
) -> None:
    async with (
        model_server([], key=KEY) as server,
        providing(bench, [server.pair]) as connected_bench,
    ):
        await _connect(connected_bench, server.openai_url)
        run = await connected_bench.run(document(step("say", "transform_data", {"output": 1})))
        assert run["status"] == "succeeded"
    assert slow_loading.asked == 0
