"""Pages by meaning with OpenAI's model: its vectors, what they cost, and who pays."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Final

import pytest

from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.roles import Role
from mainspring.gate.providers.embedder import OpenAIEmbedder
from mainspring.workspace.pages.embedding_job import PageEmbeddingJob
from tests.kit.house import Bench
from tests.kit.members import member
from tests.kit.model_server import Answer, model_server
from tests.kit.neighbours import NEIGHBOUR, add_workspace
from tests.kit.providing import KEY, Providing, providing

MODEL: Final = "openai/text-embedding-3-small"
_KEPT = "SELECT DISTINCT workspace_id, model, vector_dims(embedding) AS wide FROM page_vectors"
_SPENT = "UPDATE workspaces SET cost_cap_daily_usd = 0 WHERE workspace_id = $1"


async def _write(house: Providing) -> None:
    """Two pages here and one next door."""
    await add_workspace(house.house.database, NEIGHBOUR, "Next door")
    there = await member(house.house.database, NEIGHBOUR, Role.OWNER)
    pages = ((house.admin, "Holiday rules"), (house.admin, "Lunch"), (there, "Holiday plans"))
    for by, title in pages:
        body = f"{title} are written down here."
        await house.call("create_page", by, type="note", title=title, body=body)


async def _duty(house: Providing) -> PageEmbeddingJob:
    assert house.house.embedder is not None
    duty = PageEmbeddingJob(house.house.database, house.house.embedder)
    assert await duty.open()
    return duty


async def _ledger(house: Providing) -> list[dict[str, Any]]:
    rows = await house.house.database.fetch("SELECT * FROM llm_usage ORDER BY at, id")
    return [dict(row) for row in rows]


async def test_pages_are_found_by_vectors_that_each_workspace_pays_for(bench: Bench) -> None:
    async with (
        model_server("echo", key=KEY) as server,
        providing(bench, embeddings="openai") as house,
    ):
        await _write(house)
        duty = await _duty(house)
        connected = {"name": "openai", "base_url": server.openai_url, "key": KEY}
        await house.call("admin_connect_model", house.operator, **connected)
        while await duty.embed_some():
            pass
        found = await house.call("query", q="holiday rules")
        rows, kept = await _ledger(house), await house.house.database.fetch(_KEPT)
        promises = await house.house.database.fetchval(
            "SELECT count(*) FROM reservations WHERE spent IS NULL"
        )

    assert ("embedding" in found["used"], found["model"]) == (True, MODEL)
    assert found["pages"][0]["title"] == "Holiday rules"
    spaces = (house.house.workspace_id, NEIGHBOUR)
    assert {(row["workspace_id"], row["model"], row["wide"]) for row in kept} == {
        (space, MODEL, 1_536) for space in spaces
    }
    # The pages of both, and one question of ours.
    assert sorted(map(str, (row["workspace_id"] for row in rows))) == sorted(
        map(str, (*spaces, house.house.workspace_id))
    )
    for row in rows:
        assert (row["caller"], row["provider"], row["output_tokens"]) == ("embeddings", "openai", 0)
        assert row["cost_usd"] == row["input_tokens"] * Decimal("0.02") / 1_000_000 > 0
        assert row["price"]["input_usd_per_million"] == "0.02"
    assert promises == 0


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
    async with model_server([], key=KEY) as server, providing(bench) as house:
        connected = {"name": "openai", "base_url": server.openai_url, "key": KEY}
        await house.call("admin_connect_model", house.operator, **connected)
        clock = house.house.clock
        model = OpenAIEmbedder(house.house.database, house.house.providers, clock)
        for end, _ in ends:
            server.script[:] = [Answer(body=good), end]
            with pytest.raises(UpstreamError):
                await model.embed(house.house.workspace_id, ["word "] * 120)
        rows = await _ledger(house)
        promises = await house.house.database.fetchval(
            "SELECT count(*) FROM reservations WHERE spent IS NULL"
        )
    assert [row["input_tokens"] for row in rows] == [tokens for _, tokens in ends]
    assert promises == 0


async def test_words_are_left_without_a_connection_and_when_the_day_is_spent(bench: Bench) -> None:
    async with (
        model_server("echo", key=KEY) as server,
        providing(bench, embeddings="openai") as house,
    ):
        await _write(house)
        await _duty(house)
        alone = await house.call("query", q="holiday")
        connected = {"name": "openai", "base_url": server.openai_url, "key": KEY}
        # A workspace's own connection is not the installation's.
        await house.call("connect_model", **{**connected, "base_url": "https://models.example"})
        own = await house.call("query", q="holiday")
        await house.call("admin_connect_model", house.operator, **connected)
        await house.house.database.execute(_SPENT, house.house.workspace_id)
        spent = await house.call("query", q="lunch")
        rows = await _ledger(house)

    assert "not connected" in alone["note"]
    assert "not connected" in own["note"]
    assert spent["pages"][0]["title"] == "Lunch"
    assert all("embedding" not in found["used"] for found in (alone, own, spent))
    assert (server.count, rows) == (0, [])
