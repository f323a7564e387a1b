"""Who is looked up before anything is read, and what others cannot spend or hold up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from mainspring.contracts.ids import generate_id
from mainspring.triggers import webhook_receiver
from tests.integration.triggers.test_webhook_signatures import BODY, SIGNED, _send, _signed
from tests.integration.triggers.test_webhook_signatures import SECRET as SIGNING
from tests.kit.api import Api, served
from tests.kit.bench import Bench
from tests.kit.postgres import LOCK_WAITS
from tests.kit.webhooks import hook, runs, webhook

COSTLY = {f"x{number}": f"$..[?@.b > {number} && @.c[0] == {number}]" for number in range(100)}
LARGE = {"a": [{"b": number, "c": [1, 2, 3]} for number in range(7_000)]}


async def _status(api: Api, path: str, headers: Mapping[str, str]) -> tuple[int, int]:
    """Calls the app inside this process: the status, and how often the body was asked for."""
    asked, seen = 0, 0
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "headers": [(name.lower().encode(), text.encode()) for name, text in headers.items()],
    }

    async def receive() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Any) -> None:
        nonlocal seen
        seen = message.get("status", seen)

    await api.app(scope, receive, send)
    return seen, asked


async def test_nothing_of_a_stranger_s_body_is_read(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    other = await hook(bench, api, name="another")
    await bench.application.vault.set(bench.secret_scope, "billing_key", SIGNING)
    signed = await hook(bench, api, SIGNED, name="signed")
    token = {"Content-Type": "application/json", "Authorization": f"Bearer {called.token}"}
    wrong = {**token, "Authorization": "Bearer mwh_" + "x" * 43}
    strangers = {
        "wrong token": (called.path, wrong),
        "another automation's": (other.path, token),
        "unknown id": (f"/api/v1/automations/{generate_id()}/fire", token),
        "no id": ("/api/v1/automations/x/fire", token),
        "unknown slug": (signed.signed_path + "x", _signed()),
        "an unreadable slug": (signed.signed_path + "\xe9", _signed()),
        "no signature": (signed.signed_path, token),
        "not signed": (called.signed_path, _signed()),
    }
    answers = {name: await _status(api, *call) for name, call in strangers.items()}
    assert answers == dict.fromkeys(strangers, (401, 0))
    assert (await _status(api, called.path, token))[0] == 202
    assert await runs(bench) == 1


async def test_a_stranger_does_not_spend_the_limit_of_a_signed_webhook(bench: Bench) -> None:
    bounds = replace(bench.application.limits, webhook_burst=5, webhook_per_second=1)
    async with served(replace(bench.application, limits=bounds)) as api:
        await bench.application.vault.set(bench.secret_scope, "billing_key", SIGNING)
        called = await hook(bench, api, SIGNED)
        good = _signed()
        forged = {**good, "webhook-signature": "v1," + "A" * 43 + "="}
        flood = [await _send(called, forged) for _ in range(20)]
        assert {answer.status_code for answer in flood} == {401, 429}
        assert (await _send(called, good)).status_code == 202
        assert await runs(bench) == 1


async def test_the_limit_is_the_webhook_s_however_its_address_is_spelt(bench: Bench) -> None:
    bounds = replace(bench.application.limits, webhook_burst=5, webhook_per_second=1)
    async with served(replace(bench.application, limits=bounds)) as api:
        await bench.application.vault.set(bench.secret_scope, "billing_key", SIGNING)
        called = await hook(bench, api, SIGNED)
        spelt = called.signed_path.replace(str(called.automation_id), called.automation_id.hex)
        began = asyncio.get_running_loop().time()
        statuses = [
            (
                await api.anonymous.post(path, content=BODY, headers=_signed(message=f"m{number}"))
            ).status_code
            for number, path in enumerate([called.signed_path] * 5 + [spelt] * 5)
        ]
        seconds = asyncio.get_running_loop().time() - began
    # The burst, and one more for each second that has passed.
    assert statuses.count(202) <= 5 + seconds
    assert set(statuses) <= {202, 429}


async def test_bodies_that_are_still_coming_are_counted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_receiver, "SHARE_BYTES", 0)
    bounds = replace(bench.application.limits, payload_bytes=100_000)
    async with served(replace(bench.application, limits=bounds)) as api:
        called = await hook(bench, api)
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def slowly() -> Any:
            yield b'"' + b"x" * 90_000
            begun.set()
            await go_on.wait()
            yield b'"'

        headers = {"Content-Type": "application/json"}
        first = asyncio.create_task(called.fire(content=slowly(), headers=headers))
        await begun.wait()
        async with asyncio.timeout(60):
            while (answer := await called.fire({"x": "y" * 20_000})).status_code != 429:
                await asyncio.sleep(0.01)
        assert answer.headers["Retry-After"] == "1"
        go_on.set()
        assert (await first).status_code == 202
        assert (await called.fire({"x": "y" * 20_000})).status_code == 202


async def test_a_costly_mapping_is_its_own_webhook_s_trouble(bench: Bench, api: Api) -> None:
    names: dict[str, Any] = {name: {} for name in COSTLY}
    shape = {"schema": {"type": "object", "properties": names}}
    trigger = webhook(config={"input_mapping": COSTLY})
    costly = await hook(bench, api, trigger, name="costly", inputs=shape)
    good = await hook(bench, api, name="good")
    body = json.dumps(LARGE).encode()
    headers = {"Content-Type": "application/json"}
    flood = [asyncio.create_task(costly.fire(content=body, headers=headers)) for _ in range(12)]
    await asyncio.wait(flood, return_when=asyncio.FIRST_COMPLETED)
    assert (await good.fire({})).status_code == 202
    # Nobody waits for the others' bodies: a group is not open while they are mapped.
    assert not all(task.done() for task in flood)
    answers = await asyncio.gather(*flood)
    result = {(answer.status_code, answer.json()["code"]) for answer in answers}
    assert result == {(422, "path_too_costly")}
    assert await runs(bench) == 13


async def test_a_call_that_meets_a_change_of_its_webhook_follows_the_new_one(
    bench: Bench, api: Api
) -> None:
    schema = {"schema": {"type": "object", "properties": {"who": {"type": "string"}}}}
    called = await hook(bench, api, webhook(inputs={"who": "before"}), inputs=schema)
    assert (await called.fire({})).status_code == 202
    async with bench.application.database.transaction() as tx:
        await tx.execute("""UPDATE triggers SET inputs = '{"who": "after"}'::text::json""")
        firing = asyncio.create_task(called.fire({}))
        async with asyncio.timeout(60):
            while not await bench.application.database.fetchval(LOCK_WAITS) and not firing.done():
                await asyncio.sleep(0.005)
    answer = await firing
    assert answer.status_code == 202
    assert (await bench.read(answer.json()["run_id"]))["inputs"] == {"who": "after"}
    assert await runs(bench) == 2
