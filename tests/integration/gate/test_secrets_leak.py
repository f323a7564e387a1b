"""Fifty secrets through a hundred runs, and not one of them anywhere that can be read.

The system outside hands every secret back in all the ways it can: in bodies, headers, status
lines, redirects and errors. Later steps keep, send and save what came back.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import httpx2
import pytest

from mainspring.app import build_application
from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.sealing import SecretScope
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, step
from tests.kit.leaks import Haystack, add_files, add_json, add_tables, echoes, spellings
from tests.kit.loopback_doubles import local_server

ROOT = "/api/v1"
# Short and long, of many lines, and such as look like something else.
VALUES = [
    *("Zq7!", "wJ#9x", "Kp_2&", "vX+8=z", "~Qd5/"),
    *(f"sk-live-{number * 7919:08d}-{'QwErTyUiOp'[number % 10]}zX" for number in range(15)),
    "Lg" + "".join(chr(97 + (number * 7) % 26) for number in range(900)),
    "Jn" + "0123456789ABCDEF!" * 60,
    *(f"first line {mark}\nsecond line {mark}\r\nthird\t{mark}" for mark in ("Hx1", "Hx2", "Hx3")),
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n",
    *("^(R[eé]g+)*\\d{3,}$", "[a-z]{2}|(?P<Xy>.*)\\1", "Xz.*+?^${}()|[]\\"),
    *('{"token": "Jx-77/é", "n": 1}', '["Jy", null, true, "a\\"b"]', '"Jz quoted"'),
    *("ключ-Ы-42", "密碼-Xq-漢字", "🔑🗝️-emoji-Ü", "naïve café Ωmega"),
    *("https://user:Pw-9%2F@host.example/p?q=1&r=Xx#f", "postgres://u:Yp-55@db.example:5432/x"),
    *("TWFpbnNwcmluZyBzZWNyZXQ=", "c2VjcmV0LXdpdGgtcGFkZGluZw==", "_-urlsafe_-Base64_-Xk_-"),
    *("00ff00ff-Xh-deadbeefcafebabe", "eyJhbGciOiJIUzI1NiJ9.eyJYeiI6MX0.c2lnLVh6"),
    *("{{ secrets.other_Xs }}", "[secret Xs]-name", "%58%6D-percent-Xm", "&lt;Xa&gt;<Xb>\"'&"),
    *(
        "Bearer Xbearer-12345",
        "tab\tXtab\tvalue",
        " Xspaces around ",
        "Xs3cr3t'; DROP TABLE runs;--",
    ),
]
SECRETS = {f"planted_{number}": value for number, value in enumerate(VALUES)}
WAYS = ("echo", "reason", "redirect", "away", "garbage", "broken", "header", "refused")
PATIENCE = 60.0


class Parrot:
    """A system outside that says back whatever secret the path names."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []

    async def __call__(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        self.heads.append(head)
        way, _, name = head.split(b" ")[1].decode().split("?")[0][1:].partition("/")
        value = SECRETS[name.split("/")[0]]
        body = json.dumps(echoes(value)).encode()
        one_line = json.dumps(value)[1:-1]
        ascii_only = {
            f"X-{key}": text
            for key, text in echoes(value).items()
            if text.isascii() and text.isprintable() and len(text) < 900
        }
        headers = "".join(f"{key}: {text.strip()}\r\n" for key, text in ascii_only.items())
        match way:
            case "reason":
                writer.write(_answer(f"500 Sorry {one_line[:400]}", body))
            case "redirect":
                where = spellings(value).get("url", name)
                writer.write(_answer("302 Found", b"", f"Location: /echo/{name}/{where}\r\n"))
            case "away":
                place = spellings(value).get("url", "x" + value)
                writer.write(
                    _answer("302 Found", body, f"Location: http://elsewhere.test/{place}\r\n")
                )
            case "garbage":
                writer.write(b"HTTP/9.9 " + value.encode() + b"\r\n\r\n" + body)
                writer.close()
            case "broken":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n" + body)
                writer.close()
            case "refused":
                writer.write(_answer("422 No", body))
            case _:
                writer.write(_answer("200 OK", body, headers))


def _answer(status: str, body: bytes, more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _plan(name: str, way: str, pair: str) -> dict[str, Any]:
    """Uses one secret, and does with the answer all that a plan can do."""
    secret = f"{{{{ secrets.{name} }}}}"
    fetch: dict[str, Any] = {"url": f"http://{pair}/{way}/{name}", "query": {"k": f"a {secret} b"}}
    if way == "header":
        # Where a value cannot be sent, what is said about that must not quote it.
        fetch["headers"] = {"Authorization": f"Bearer {secret}", "X-Other": secret}
    later = {"url": f"http://{pair}/echo/{name}/without", "allow_error_status": True}
    keep = "{{ ask.text }}"
    inside = [
        step("remember", "automation_kv.set", {"key": "seen", "value": "{{ ask }}"}),
        step("say", "notification", {"title": "Came back", "message_template": keep}),
        step("tell", "publish_event", {"type": "test.echoed", "payload": {"text": keep}}),
    ]
    outside = [
        step("file", "artifacts.save", {"name": "answer.txt", "text": keep}),
        step(
            "mail",
            "send_email",
            {"to": ["ada@example.com"], "subject": "It said {{ ask.status }}", "text": keep},
        ),
        step("post", "slack_post", {"channel": "C1", "text": keep, "token": secret}),
    ]
    return document(
        step("ask", "http_fetch", fetch, max_retries=0),
        step("later", "http_fetch", later, max_retries=0),
        step(
            "pick",
            "transform_data",
            {
                "output": {
                    "all": "{{ ask }}",
                    "back": keep + "{{ later.text }}",
                    "lines": "{{ later.json }}",
                    "shout": "{{ ask.text | upper }}",
                }
            },
        ),
        *(inside if int(name[8:]) % 2 else outside),
        name=f"{name} {way}",
        execution={
            "on_failure": [
                step(
                    "regret",
                    "notification",
                    {"title": "It failed", "message_template": "{{ run.error }}"},
                ),
                step("after", "http_fetch", later, max_retries=0),
                step(
                    "note",
                    "automation_kv.set",
                    {"key": "failed", "value": "{{ run.error }} {{ after.text }}"},
                ),
            ]
        },
    )


@asynccontextmanager
async def _house(bench: Bench, parrot: Parrot) -> AsyncIterator[tuple[Bench, Api, str]]:
    """A complete application with its vocabulary as it is shipped, and one address outside."""
    async with local_server(parrot) as server:
        pair = f"127.0.0.1:{server.port}"
        settings = replace(bench.application.settings, egress_allow=frozenset({pair}))
        application = build_application(
            settings, bench.application.limits, None, bench.application.database
        )
        try:
            async with served(application) as api:
                yield Bench(application, bench.outside), api, pair
        finally:
            if application.script_runner is not None:
                await application.script_runner.aclose()
            await application.blobs.aclose()
            await application.wakeup_sender.aclose()
            await application.egress.aclose()


async def _plant(api: Api, hay: Haystack) -> None:
    for name, value in SECRETS.items():
        given = {"name": name, "value": value, "description": f"number {name}"}
        _heard(hay, await api.client.post(f"{ROOT}/secrets", json=given), 201)
    value = VALUES[9]
    for wrong in (
        {"name": "Wrong Name", "value": value},
        {"name": value, "value": "x"},
        {"name": "ok", "value": [value]},
        {"name": "ok", "value": value, "owner_user_id": value},
        {"name": "ok", "valeu": value},
        {"name": "ok", "value": "x", value: 1},
        {"name": "ok", "value": value * 1_000},
        {"name": "ok", "value": {"deep": {"deeper": value}}},
    ):
        for path in ("secrets", "capabilities/automation_secret_set"):
            _heard(hay, await api.client.post(f"{ROOT}/{path}", json=wrong), 422)
        publisher = {**wrong, "name": "OK"}
        _heard(hay, await api.client.post(f"{ROOT}/publisher-secrets", json=publisher), 201, 422)
    spoilt = f'{{"name": "ok", "value": "{value}'
    _heard(hay, await api.client.post(f"{ROOT}/secrets", content=spoilt.encode()), 415, 422)


def _heard(hay: Haystack, answer: httpx2.Response, *expected: int) -> httpx2.Response:
    assert answer.status_code in expected, answer.text
    for name, text in answer.headers.items():
        hay.add(f"a header of {answer.request.url}", f"{name}: {text}")
    where = f"the answer to {answer.request.method} {answer.request.url.path}"
    if "json" in answer.headers.get("content-type", ""):
        add_json(hay, where, answer.text)
    else:
        hay.add(where, answer.text)
    return answer


async def _run_all(bench: Bench, pair: str) -> dict[UUID, str]:
    """Two runs for each secret, over all ways; one of them over a vault that fails."""
    application, made = bench.application, dict[UUID, str]()
    expected = [(name, "echo") for name in SECRETS]
    expected += [(name, WAYS[1 + place % 7]) for place, name in enumerate(SECRETS)]
    async with bench.worker(slots=16):
        for name, way in expected:
            saved = await bench.save(_plan(name, way, pair))
            done = await application.dispatcher.dispatch(
                RunRequest(application.workspace_id, saved.automation_id)
            )
            made[done.run_id] = way
        ended = [await bench.until(run_id, patience=PATIENCE) for run_id in made]
        await application.database.execute(
            "UPDATE secrets SET ciphertext = ciphertext || '\\x00' WHERE name = 'planted_3'"
        )
        broken = {**_plan("planted_3", "echo", pair), "name": "spoilt", "execution": {}}
        spoilt = await bench.dispatch(broken)
        assert (await bench.until(spoilt.run_id))["status"] == "failed"
    echoed = [run for run in ended if made[run["id"]] == "echo"]
    assert [run["error"] for run in echoed if run["status"] != "succeeded"] == []
    failed = {way for run, way in zip(ended, made.values(), strict=True) if run["error"]}
    assert failed >= {"reason", "away", "garbage", "broken", "refused"}
    return {**made, spoilt.run_id: "spoilt"}


async def _read_back(api: Api, runs: dict[UUID, str], hay: Haystack) -> None:
    """Every answer of the surface about these runs: single, listed, streamed, exported."""
    for place, run_id in enumerate(runs):
        _heard(hay, await api.client.get(f"{ROOT}/runs/{run_id}"), 200)
        # All ways have had their turn after eight of them.
        for more in ("artifacts", "stream") if place % 4 == 0 else ():
            _heard(hay, await api.client.get(f"{ROOT}/runs/{run_id}/{more}"), 200)
    for path in (
        "runs",
        "automations",
        "inbox",
        "events",
        "artifacts",
        "audit",
        "secrets",
        "export",
        "metrics",
        "publisher-secrets",
    ):
        _heard(hay, await api.client.get(f"{ROOT}/{path}"), 200)
    listed = (await api.client.get(f"{ROOT}/automations?limit=200")).json()["items"]
    for entry in listed[:20]:
        for path in ("export", "versions"):
            _heard(hay, await api.client.get(f"{ROOT}/automations/{entry['id']}/{path}"), 200)


async def test_fifty_secrets_through_a_hundred_runs_are_found_nowhere(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    assert len(SECRETS) >= 50
    assert all(len(value) >= 4 for value in VALUES)
    caplog.set_level(logging.DEBUG)
    parrot, hay = Parrot(), Haystack()
    async with _house(bench, parrot) as (whole, api, pair):
        await _plant(api, hay)
        scope = SecretScope(whole.application.workspace_id, FIRST_MEMBER)
        assert await whole.application.vault.reveal(scope, SECRETS) == SECRETS
        runs = await _run_all(whole, pair)
        assert len(runs) > 100
        await _read_back(api, runs, hay)

        # The values went out, so there was something to leak, and they were shown by name.
        sent = b"\n".join(parrot.heads).decode()
        assert all(spellings(value).get("url", value) in sent for value in VALUES)
        assert await add_tables(hay, whole.application.database) > 100
        assert add_files(hay, whole.application.settings.home, leave_out=("master.key",)) >= 25
    for record in caplog.records:
        hay.add(f"the log of {record.name}", f"{record.getMessage()} {record.exc_text or ''}")
        hay.add(f"the log of {record.name}", repr(record.args))
    assert all(f"[secret {name}]" in hay for name in SECRETS)
    assert hay.found(SECRETS) == []
