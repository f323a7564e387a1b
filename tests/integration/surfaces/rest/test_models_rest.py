"""Models over REST: connected, tried, priced and disconnected, and no key in any answer."""

from __future__ import annotations

from tests.kit.api import Api, served
from tests.kit.bench import Bench
from tests.kit.model_connections import KEY, providing
from tests.kit.model_server import model_server

ROOT = "/api/v1"


async def test_a_model_is_connected_priced_listed_and_disconnected(api: Api) -> None:
    empty = await api.client.get(f"{ROOT}/models")
    one = f"{ROOT}/models/connections/house"
    shared, price = (f"{ROOT}/admin/models/{path}" for path in ("connections/groq", "prices"))
    given = {"base_url": "https://models.example/v1/", "key": KEY, "models": ["org/qwen3"]}
    made = await api.client.put(one, json=given)
    again = await api.client.put(one, json={"usual_model": "org/qwen3"})
    wrong = await api.client.put(f"{ROOT}/models/connections/NOT", json=given)
    moved = await api.client.put(one, json={"base_url": "https://elsewhere.example/v1"})
    everyone = await api.client.put(shared, json={"key": KEY})
    rates = {"input_usd_per_million": 1.5, "output_usd_per_million": 2}
    # A model's name may have slashes in it.
    priced = await api.client.put(f"{price}/house/org/qwen3", json=rates)
    listed = await api.client.get(f"{ROOT}/models")
    prices = await api.client.get(price)
    gone = [
        await api.client.delete(path)
        for path in (one, shared, f"{price}/house/org/qwen3", f"{price}/house/org/qwen3")
    ]

    assert "models connect" in empty.json()["note"]
    assert (made.status_code, made.json()["created"]) == (200, True)
    assert made.json()["connection"]["base_url"] == "https://models.example/v1"
    assert (again.json()["created"], again.json()["connection"]["has_key"]) == (False, True)
    assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (422, "/name")
    assert (moved.status_code, moved.json()["code"]) == (422, "key_again")
    assert everyone.json()["connection"]["scope"] == "installation"
    assert priced.json()["price"]["model"] == "house/org/qwen3"
    assert listed.json()["usual_model"] == "house/org/qwen3"
    [model] = listed.json()["models"]
    assert (model["can_be_asked"], model["price"]["input_usd_per_million"]) == (True, "1.5")
    assert [entry["model"] for entry in prices.json()["prices"]] == ["house/org/qwen3"]
    assert [answer.json() for answer in gone] == [
        {"disconnected": True, "needed_by": []},
        {"disconnected": True, "needed_by": []},
        {"deleted": True},
        {"deleted": False},
    ]
    for answer in (empty, made, again, wrong, moved, everyone, priced, listed, prices, *gone):
        assert KEY not in answer.text
    assert (await api.anonymous.get(f"{ROOT}/models")).status_code == 401


async def test_a_connection_is_tried_for_nothing(bench: Bench) -> None:
    async with (
        model_server("echo", models=["qwen3", "qwen3-mini"]) as server,
        providing(bench) as connected_bench,
        served(connected_bench.application) as api,
    ):
        shared = f"{ROOT}/admin/models/connections/house"
        await api.client.put(shared, json={"base_url": server.openai_url})
        tried = await api.client.post(f"{ROOT}/models/connections/house/test")
        nowhere = await api.client.post(f"{ROOT}/models/connections/other/test")

    assert tried.json() == {
        "works": True,
        "detail": "It answers and lists 2 models.",
        "models": ["qwen3", "qwen3-mini"],
    }
    assert (nowhere.status_code, nowhere.json()["code"]) == (404, "no_connection")
    # No model was called.
    assert server.count == 0
