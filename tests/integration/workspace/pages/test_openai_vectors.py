"""Pages by meaning with OpenAI's model: its vectors, what they cost, and who pays."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Final

import pytest

from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.roles import Role
from mainspring.gate.embedder import OpenAIEmbedder
from mainspring.workspace.pages.embedding_job import PageEmbeddingJob
from tests.kit.bench import Bench
from tests.kit.members import member
from tests.kit.model_connections import KEY, Providing, providing
from tests.kit.model_server import Answer, model_server
from tests.kit.tenants import NEIGHBOUR, add_workspace

MODEL: Final = "openai/text-embedding-3-small"
_KEPT = "SELECT DISTINCT workspace_id, model, vector_dims(embedding) AS wide FROM page_vectors"
_SPENT = "UPDATE workspaces SET cost_cap_daily_usd = 0 WHERE workspace_id = $1"


async def _write(connected_bench: Providing) -> None:
    """Two pages here and one in another workspace."""
    await add_workspace(connected_bench.application.database, NEIGHBOUR, "Next door")
    there = await member(connected_bench.application.database, NEIGHBOUR, Role.OWNER)
    pages = (
        (connected_bench.admin, "Holiday rules"),
        (connected_bench.admin, "Lunch"),
        (there, "Holiday plans"),
    )
    for by, title in pages:
        body = f"{title} are written down here."
        await connected_bench.call("create_page", by, type="note", title=title, body=body)


async def _duty(connected_bench: Providing) -> PageEmbeddingJob:
    assert connected_bench.application.embedder is not None
    duty = PageEmbeddingJob(
        connected_bench.application.database, connected_bench.application.embedder
    )
    assert await duty.open()
    return duty


async def _ledger(connected_bench: Providing) -> list[dict[str, Any]]:
    rows = await connected_bench.application.database.fetch(
        "SELECT * FROM llm_usage ORDER BY at, id"
    )
    return [dict(row) for row in rows]


async def test_pages_are_found_by_vectors_that_each_workspace_pays_for(bench: Bench) -> None:
    async with (
        model_server("echo", key=KEY) as server,
        providing(bench, embeddings="openai") as connected_bench,
    ):
        await _write(connected_bench)
        duty = await _duty(connected_bench)
        connected = {"name": "openai", "base_url": server.openai_url, "key": KEY}
        await connected_bench.call("admin_connect_model", connected_bench.operator, **connected)
        while await duty.embed_some():
            pass
        found = await connected_bench.call("query", q="holiday rules")
        rows, stored = (
            await _ledger(connected_bench),
            await connected_bench.application.database.fetch(_KEPT),
        )
        reservations = await connected_bench.application.database.fetchval(
            "SELECT count(*) FROM reservations WHERE spent IS NULL"
        )

    assert ("embedding" in found["used"], found["model"]) == (True, MODEL)
    assert found["pages"][0]["title"] == "Holiday rules"
    spaces = (connected_bench.application.workspace_id, NEIGHBOUR)
    assert {(row["workspace_id"], row["model"], row["wide"]) for row in stored} == {
        (space, MODEL, 1_536) for space in spaces
    }
    # The pages of both, and one question of ours.
    assert sorted(map(str, (row["workspace_id"] for row in rows))) == sorted(
        map(str, (*spaces, connected_bench.application.workspace_id))
    )
    for row in rows:
        assert (row["caller"], row["provider"], row["output_tokens"]) == ("embeddings", "openai", 0)
        assert row["cost_usd"] == row["input_tokens"] * Decimal("0.02") / 1_000_000 > 0
        assert row["price"]["input_usd_per_million"] == "0.02"
    assert reservations == 0


async def test_texts_that_were_paid_for_are_booked_when_later_ones_fail(bench: Bench) -> None:
    """Fifty texts go at once. Those refused cost nothing, those broken off cost their most."""
    vectors = [
        {"object": "embedding", "index": place, "embedding": [1.0] + [0.0] * 1_535}
        for place in range(50)
    ]
    took = {"prompt_tokens": 1_000, "total_tokens": 1_000}
    good = json.dumps({"object": "list", "model": "m", "data": vectors, "usage": took})
    ends: tuple[tuple[Answer, int], ...] = (
        (Answer(status=429, error="busy"), 1_000),
        (Answer(broken="cut"), 1_000 + 50 * len("word ")),
    )
    async with model_server([], key=KEY) as server, providing(bench) as connected_bench:
        connected = {"name": "openai", "base_url": server.openai_url, "key": KEY}
        await connected_bench.call("admin_connect_model", connected_bench.operator, **connected)
        clock = connected_bench.application.clock
        model = OpenAIEmbedder(
            connected_bench.application.database, connected_bench.application.providers, clock
        )
        for end, _ in ends:
            server.script[:] = [Answer(body=good), end]
            with pytest.raises(UpstreamError):
                await model.embed(connected_bench.application.workspace_id, ["word "] * 120)
        rows = await _ledger(connected_bench)
        reservations = await connected_bench.application.database.fetchval(
            "SELECT count(*) FROM reservations WHERE spent IS NULL"
        )
    assert [row["input_tokens"] for row in rows] == [tokens for _, tokens in ends]
    assert reservations == 0


async def test_words_are_left_without_a_connection_and_when_the_day_is_spent(bench: Bench) -> None:
    async with (
        model_server("echo", key=KEY) as server,
        providing(bench, embeddings="openai") as connected_bench,
    ):
        await _write(connected_bench)
        await _duty(connected_bench)
        alone = await connected_bench.call("query", q="holiday")
        connected = {"name": "openai", "base_url": server.openai_url, "key": KEY}
        # A workspace's own connection is not the installation's.
        await connected_bench.call(
            "connect_model", **{**connected, "base_url": "https://models.example"}
        )
        own = await connected_bench.call("query", q="holiday")
        await connected_bench.call("admin_connect_model", connected_bench.operator, **connected)
        await connected_bench.application.database.execute(
            _SPENT, connected_bench.application.workspace_id
        )
        spent = await connected_bench.call("query", q="lunch")
        rows = await _ledger(connected_bench)

    assert "not connected" in alone["note"]
    assert "not connected" in own["note"]
    assert spent["pages"][0]["title"] == "Lunch"
    assert all("embedding" not in found["used"] for found in (alone, own, spent))
    assert (server.count, rows) == (0, [])
