"""Models are connected, asked at their price and by their name, and keys are seen by nobody."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from mainspring.contracts.errors import Conflict, Invalid, PermissionDenied, Problem
from mainspring.contracts.model import ModelMessage, ModelRequest
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from tests.kit.bench import Bench
from tests.kit.leaks import Haystack, add_tables
from tests.kit.members import member
from tests.kit.model_connections import KEY, Providing, providing
from tests.kit.model_server import Answer, model_server
from tests.kit.scripted_server import ScriptedDouble, http_answer, serving
from tests.kit.tenants import NEIGHBOUR, add_workspace


async def _ledger(bench: Bench) -> list[dict[str, object]]:
    rows = await bench.application.database.fetch("SELECT * FROM llm_usage ORDER BY at, id")
    return [dict(row) for row in rows]


async def test_a_model_without_a_price_is_refused_until_the_operator_sets_one(
    bench: Bench,
) -> None:
    answer = Answer("Yes.", input_tokens=1_000, output_tokens=10, keep=True)
    async with (
        model_server([answer], key=KEY) as server,
        providing(bench, [server.pair]) as connected_bench,
    ):
        await connected_bench.call(
            "connect_model", name="house", base_url=server.openai_url, key=KEY, models=["qwen3"]
        )
        refused = await connected_bench.ask(model="house/qwen3")
        listed = await connected_bench.call("list_models")
        given = {"input_usd_per_million": 2, "output_usd_per_million": 0.3}
        await connected_bench.call(
            "admin_set_model_price", connected_bench.operator, model="qwen3", **given
        )
        asked = await connected_bench.ask(model="qwen3")
        dearer = {"input_usd_per_million": 20, "output_usd_per_million": 0}
        await connected_bench.call(
            "admin_set_model_price", connected_bench.operator, model="house/qwen3", **dearer
        )
        again = await connected_bench.ask(model="house/qwen3")
        shown = await connected_bench.call("list_models")
        await connected_bench.call(
            "admin_delete_model_price", connected_bench.operator, model="qwen3"
        )
        await connected_bench.call(
            "admin_delete_model_price", connected_bench.operator, model="house/qwen3"
        )
        later = await connected_bench.ask(model="house/qwen3")
        rows = await _ledger(connected_bench)

    assert (refused["status"], refused["error"]["code"]) == ("failed", "unknown_price")
    assert (later["status"], later["error"]["code"]) == ("failed", "unknown_price")
    assert [seen.body["model"] for seen in server.seen] == ["qwen3", "qwen3"]
    assert asked["output"]["text"] == again["output"]["text"] == "Yes."
    [model] = listed["models"]
    assert (model["can_be_asked"], model["price"], model["price_from"]) == (False, None, None)
    assert "models price" in model["why_not"]
    assert shown["models"][0]["price"]["input_usd_per_million"] == "20"
    assert [(row["cost_usd"], row["provider"], row["model"]) for row in rows] == [
        (Decimal("0.002003"), "house", "qwen3"),
        (Decimal("0.02"), "house", "qwen3"),
    ]
    assert [row["price"] for row in rows] == [
        {"input_usd_per_million": "2", "output_usd_per_million": "0.3"},
        {"input_usd_per_million": "20", "output_usd_per_million": "0"},
    ]


async def test_a_key_goes_to_no_address_but_the_one_it_was_given_for(bench: Bench) -> None:
    """The connection is led elsewhere, with another key, between looking it up and asking."""
    request = ModelRequest("m", (ModelMessage("user", "Hello"),))
    async with (
        model_server("echo") as old,
        model_server("echo") as new,
        providing(bench, [old.pair, new.pair]) as connected_bench,
    ):
        connected = {"name": "own", "base_url": old.openai_url, "key": "sk-old", "models": ["m"]}
        await connected_bench.call("connect_model", **connected)
        found = await connected_bench.application.providers.find(
            connected_bench.application.workspace_id, "own/m"
        )
        moved = {"name": "own", "base_url": new.openai_url, "key": "sk-new"}
        await connected_bench.call("connect_model", **moved)
        with pytest.raises(Conflict) as refused:
            await found.complete(request, key="k")
        again = await connected_bench.application.providers.find(
            connected_bench.application.workspace_id, "own/m"
        )
        await again.complete(request, key="k")
    assert (refused.value.code, refused.value.retryable) == ("connection_changed", True)
    assert old.seen == []
    assert [seen.headers["authorization"] for seen in new.seen] == ["Bearer sk-new"]


async def test_each_kind_is_asked_in_its_own_language_and_the_empty_name_is_the_usual_model(
    bench: Bench,
) -> None:
    async with (
        model_server("echo", key=KEY) as server,
        providing(bench, [server.pair]) as connected_bench,
    ):
        await connected_bench.call(
            "admin_connect_model",
            connected_bench.operator,
            name="anthropic",
            base_url=server.url,
            key=KEY,
        )
        await connected_bench.call(
            "connect_model", name="openai", base_url=server.openai_url, key=KEY
        )
        usual = await connected_bench.ask()
        named = await connected_bench.ask(model="gpt-4.1-mini")
        nobody = await connected_bench.ask(model="mistral-large")
        await connected_bench.call("connect_model", name="openai", usual_model="gpt-4.1")
        changed = await connected_bench.ask()

    assert [seen.wire for seen in server.seen] == ["anthropic", "openai", "openai"]
    assert [seen.body["model"] for seen in server.seen] == [
        "claude-sonnet-4-6",
        "gpt-4.1-mini",
        "gpt-4.1",
    ]
    assert {run["status"] for run in (usual, named, changed)} == {"succeeded"}
    assert nobody["error"]["code"] == "unknown_model"
    assert "anthropic" in nobody["error"]["suggestion"]


async def test_a_key_is_encrypted_and_is_in_no_row_no_answer_and_no_log(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    # A server that says the key aloud, in an answer and in an error.
    loud = [Answer(f"Your key is {KEY}."), Answer(status=400, error=f"Bad key {KEY}.")]
    async with (
        model_server(loud, key=KEY) as server,
        providing(bench, [server.pair]) as connected_bench,
    ):
        told = [
            await connected_bench.call(
                "connect_model", name="anthropic", base_url=server.url, key=KEY
            ),
            await connected_bench.call(
                "admin_connect_model",
                connected_bench.operator,
                name="o",
                kind="openai",
                base_url=server.openai_url,
                key=KEY,
            ),
            await connected_bench.call("list_models", connected_bench.operator),
            await connected_bench.call("test_model", name="anthropic"),
            await connected_bench.ask(),
            await connected_bench.ask(),
        ]
        kinds = await connected_bench.application.database.fetch("SELECT kind, name FROM secrets")
        hay = Haystack()
        await add_tables(hay, connected_bench.application.database)

    assert [(row["kind"], row["name"]) for row in kinds] == [("connection", "api_key")] * 2
    assert all(seen.headers["x-api-key"] == KEY for seen in server.seen)
    assert told[4]["status"] == "succeeded"
    assert "Your key is" in told[4]["output"]["text"]
    assert told[5]["status"] == "failed"
    hay.add("answers", json.dumps(told, default=str))
    hay.add("log", caplog.text)
    assert "Your key is" in hay
    assert hay.found({"key": KEY}) == []


async def test_a_key_goes_to_no_other_address_than_it_was_given_for(bench: Bench) -> None:
    async with model_server("echo") as server, providing(bench, [server.pair]) as connected_bench:
        await connected_bench.call("connect_model", name="openai", key=KEY)
        moved = {"name": "openai", "base_url": server.openai_url}
        with pytest.raises(Invalid) as refused:
            await connected_bench.call("connect_model", **moved)
        with pytest.raises(Invalid) as other:
            await connected_bench.call("connect_model", name="openai", kind="groq")
        before = await connected_bench.call("list_models")
        await connected_bench.call("connect_model", **moved, key="another-key")
        await connected_bench.ask(model="openai/gpt-4.1-mini")

    assert [problem.value.code for problem in (refused, other)] == ["key_again", "key_again"]
    assert refused.value.findings[0].pointer == "/key"
    assert before["connections"][0]["base_url"] == "https://api.openai.com/v1"
    assert [seen.headers["authorization"] for seen in server.seen] == ["Bearer another-key"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"name": "Claude", "key": KEY}, "/name"),
    ({"name": "9x", "key": KEY}, "/name"),
    ({"name": "anthropic"}, "/key"),
    ({"name": "anthropic", "key": "two words"}, "/key"),
    ({"name": "anthropic", "key": "line\nbreak"}, "/key"),
    ({"name": "house"}, "/base_url"),
    ({"name": "house", "base_url": "ftp://models.example"}, "/base_url"),
    ({"name": "house", "base_url": "https://me:secret@models.example"}, "/base_url"),
    ({"name": "house", "base_url": "https://models.example/v1?key=1"}, "/base_url"),
    ({"name": "house", "base_url": "https://models.example/v1#x"}, "/base_url"),
    ({"name": "house", "base_url": "http://10.0.0.7:8000/v1"}, "/base_url"),
    ({"name": "house", "base_url": "http://models.example/v1", "key": KEY}, "/base_url"),
    ({"name": "house", "base_url": "http://169.254.169.254/v1"}, "/base_url"),
    ({"name": "house", "kind": "http", "base_url": "https://models.example"}, "/kind"),
    ({"name": "house", "base_url": "https://models.example", "models": ["a b"]}, "/models/0"),
    (
        {
            "name": "house",
            "base_url": "https://models.example",
            "models": ["a"],
            "usual_model": "b",
        },
        "/usual_model",
    ),
]


async def test_bad_input_is_pointed_at_and_nothing_is_kept(bench: Bench) -> None:
    async with providing(bench) as connected_bench:
        for given, pointer in WRONG:
            with pytest.raises((Invalid, PermissionDenied)) as refused:
                await connected_bench.call("connect_model", **given)
            assert refused.value.findings[0].pointer == pointer, given
            assert KEY not in json.dumps(refused.value.as_dict())
        prices = ({"model": "a b"}, {"model": "a", "input_usd_per_million": -1})
        for given in prices:
            whole = {"input_usd_per_million": 1, "output_usd_per_million": 1, **given}
            with pytest.raises(Invalid):
                await connected_bench.call(
                    "admin_set_model_price", connected_bench.operator, **whole
                )
        listed = await connected_bench.call("list_models")
        kept = await connected_bench.application.database.fetchval("SELECT count(*) FROM secrets")

    assert (listed["connections"], kept) == ([], 0)
    assert "models connect" in listed["note"]


async def test_roles_and_tenant_isolation(bench: Bench) -> None:
    """Below admin nobody connects; nobody reaches a neighbour's connection; prices and what is
    for everyone are the administrator's."""
    async with model_server("echo") as server, providing(bench, [server.pair]) as connected_bench:
        given = {"name": "anthropic", "base_url": server.url, "key": KEY}
        for role in (Role.VIEWER, Role.OPERATOR, Role.EDITOR):
            small = await member(
                connected_bench.application.database, connected_bench.application.workspace_id, role
            )
            for capability, arguments in (
                ("connect_model", given),
                ("disconnect_model", {"name": "anthropic"}),
                ("test_model", {"name": "anthropic"}),
            ):
                assert (
                    await _code(connected_bench, capability, small, arguments) == "role_too_small"
                )
            assert (await connected_bench.call("list_models", small))["connections"] == []
        rates: dict[str, Any] = {
            "model": "x",
            "input_usd_per_million": 1,
            "output_usd_per_million": 1,
        }
        above: list[tuple[str, dict[str, Any]]] = [
            ("admin_connect_model", given),
            ("admin_disconnect_model", {"name": "anthropic"}),
            ("admin_set_model_price", rates),
            ("admin_list_model_prices", {}),
        ]
        for capability, arguments in above:
            # It is not even there for somebody who does not look after the installation.
            found = await _code(connected_bench, capability, connected_bench.admin, arguments)
            assert found == "unknown_capability"

        await add_workspace(connected_bench.application.database, NEIGHBOUR, "Next door")
        next_door = await member(connected_bench.application.database, NEIGHBOUR, Role.OWNER)
        await connected_bench.call("connect_model", next_door, **given)
        ours = await connected_bench.call("list_models")
        gone = await connected_bench.call("disconnect_model", name="anthropic")
        tried = await _code(
            connected_bench, "test_model", connected_bench.admin, {"name": "anthropic"}
        )
        run = await connected_bench.ask(model="anthropic/claude-sonnet-4-6")
        theirs = await connected_bench.call("list_models", next_door)

        await connected_bench.call(
            "admin_connect_model", connected_bench.operator, **{**given, "name": "shared"}
        )
        shared = await connected_bench.call("list_models")

    assert (ours["connections"], tried) == ([], "no_connection")
    assert gone == {"disconnected": False, "needed_by": []}
    assert (run["status"], run["error"]["code"], server.count) == ("failed", "no_model", 0)
    assert [one["name"] for one in theirs["connections"]] == ["anthropic"]
    # Everybody may use what is for everyone; where it is, is the operator's business.
    [one] = shared["connections"]
    assert (one["name"], one["scope"], one["base_url"]) == ("shared", "installation", None)


async def _code(
    connected_bench: Providing, capability: str, by: CapabilityCaller, arguments: Mapping[str, Any]
) -> str:
    with pytest.raises(Problem) as refused:
        await connected_bench.call(capability, by, **arguments)
    return refused.value.code


async def test_only_the_installations_connection_may_lead_into_a_private_network(
    bench: Bench,
) -> None:
    async with model_server("echo") as server, providing(bench) as connected_bench:
        by_name = f"http://localhost:{server.port}/v1"
        await connected_bench.call("connect_model", name="ours", base_url=by_name)
        await connected_bench.call(
            "admin_connect_model",
            connected_bench.operator,
            name="shared",
            base_url=server.openai_url,
        )
        tried = [await connected_bench.call("test_model", name=name) for name in ("ours", "shared")]
        free = {"input_usd_per_million": 0, "output_usd_per_million": 0}
        await connected_bench.call(
            "admin_set_model_price", connected_bench.operator, model="m", **free
        )
        runs = [await connected_bench.ask(model=f"{name}/m") for name in ("ours", "shared")]

    assert [one["works"] for one in tried] == [False, True]
    assert "not public" in tried[0]["detail"]
    assert tried[1]["models"] == ["double-1"]
    assert [run["status"] for run in runs] == ["failed", "succeeded"]
    assert server.count == 1


async def test_where_the_installations_connection_leads_is_reported_to_administrators_alone(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    free = {"input_usd_per_million": 0, "output_usd_per_million": 0}
    hosts = {"dead": "127.0.0.1", "lost": "gpu7.models.invalid"}
    async with providing(bench) as connected_bench:
        await connected_bench.call(
            "admin_set_model_price", connected_bench.operator, model="m", **free
        )
        seen = []
        for name, host in hosts.items():
            url = f"http://{host}:9/v1"
            await connected_bench.call(
                "admin_connect_model", connected_bench.operator, name=name, base_url=url
            )
            tried = await connected_bench.call("test_model", name=name)
            whole = await connected_bench.call("test_model", connected_bench.operator, name=name)
            run = await connected_bench.ask(model=f"{name}/m")
            seen.append((name, host, tried["detail"], whole["detail"], run["error"]))

    for name, host, tried, whole, error in seen:
        assert name in tried
        assert name in error["detail"]
        assert host not in f"{tried} {error}"
        assert host in whole
        # Whoever looks after the installation can read it.
        assert host in caplog.text


async def test_a_price_tells_nobody_of_a_connection_of_another_workspace(bench: Bench) -> None:
    free = {"input_usd_per_million": 0, "output_usd_per_million": 0}
    async with providing(bench) as connected_bench:
        for model in ("acme/merger", "own/merger", "plain"):
            await connected_bench.call(
                "admin_set_model_price", connected_bench.operator, model=model, **free
            )
        await connected_bench.call(
            "connect_model", name="own", base_url="https://models.example.com/v1"
        )
        listed = await connected_bench.call("list_models")
    assert [one["name"] for one in listed["models"]] == ["own/merger", "own/plain"]


async def test_every_change_is_written_to_the_audit_log_without_the_key(bench: Bench) -> None:
    async with providing(bench) as connected_bench:
        await connected_bench.call("connect_model", name="anthropic", key=KEY)
        await connected_bench.call(
            "admin_connect_model", connected_bench.operator, name="groq", key=KEY
        )
        await connected_bench.call("disconnect_model", name="anthropic")
        await connected_bench.application.gate.aclose()
        rows = await connected_bench.application.database.fetch(
            "SELECT action, subject, actor_id, detail::text FROM audit_log "
            "WHERE action LIKE '%connect_model' ORDER BY at, id"
        )
        left = await connected_bench.application.database.fetch("SELECT owner_id FROM secrets")

    told = [(row["action"], row["subject"]) for row in rows]
    assert told[0] == ("connect_model", "anthropic")
    assert told.count(("admin_connect_model", "groq")) == 2
    assert told[-1] == ("disconnect_model", "anthropic")
    assert {row["actor_id"] for row in rows} == {connected_bench.admin.actor.id}
    assert KEY not in str([dict(row) for row in rows])
    # What was disconnected left no key behind.
    assert len(left) == 1


TRIALS = [
    (http_answer(200, b'{"data": [{"id": "a"}, {"id": 7}, "b"]}'), True, "lists 1 model"),
    (http_answer(401, KEY.encode()), False, "does not take the key"),
    (http_answer(404, b""), False, "Is the path right?"),
    (http_answer(503, b""), False, "HTTP 503"),
    (http_answer(302, b"", "Location: https://elsewhere.example/"), False, "HTTP 302"),
    (http_answer(200, b"<html>Hello</html>"), False, "not in the language"),
    (http_answer(200, b'{"data": 7}'), False, "not in the language"),
]


async def test_a_trial_costs_nothing_and_says_in_a_sentence_what_is_wrong(bench: Bench) -> None:
    double = ScriptedDouble(script=[answer for answer, _, _ in TRIALS])
    async with serving(double), providing(bench, [double.pair]) as connected_bench:
        for name, path in (("anthropic", ""), ("openai", "/v1")):
            url = f"{double.url}{path}"
            await connected_bench.call("connect_model", name=name, base_url=url, key=KEY)
        tried = [await connected_bench.call("test_model", name="anthropic") for _ in TRIALS[:1]]
        tried += [await connected_bench.call("test_model", name="openai") for _ in TRIALS[1:]]
        rows = await _ledger(connected_bench)

    for told, (_, works, words) in zip(tried, TRIALS, strict=True):
        assert (told["works"], words in told["detail"]) == (works, True), told
    first, second, *_ = (request.decode().lower() for request in double.requests)
    assert first.startswith("get /v1/models ")
    assert f"x-api-key: {KEY}" in first
    assert second.startswith("get /v1/models ")
    assert f"authorization: bearer {KEY}" in second
    assert len(double.requests) == len(TRIALS)
    assert rows == []
