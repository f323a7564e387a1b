"""``telegram_push`` in whole runs, against a double of the Bot API on loopback.

It is on the product's own safe list, so nothing here is marked as safe by the tests.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from mainspring.registry import build_registry
from tests.kit.bench import Bench, document, step
from tests.kit.outbound_bench import SENDS, everything, outside_bench
from tests.kit.scripted_server import http_answer
from tests.kit.telegram import (
    CHAT,
    TOKEN,
    TelegramDouble,
    pause,
    refusal,
    telegram_double,
)

World = tuple[Bench, TelegramDouble]
WORDS = build_registry(Limits())
TEXT = "Revenue for 2026-W31: $1200 – grüße"


def _plan(name: str = "nudge", text: str = TEXT, **more: Any) -> dict[str, Any]:
    at_once = {"retry_backoff": "none", "max_retries": 1}
    return document(step("nudge", "telegram_push", {"text": text}, **at_once), name=name, **more)


@pytest_asyncio.fixture
async def world(bench: Bench) -> AsyncIterator[World]:
    """A bench whose owner has a bot and a chat, with a Telegram that the operator has allowed."""
    await bench.application.vault.set(bench.secret_scope, "telegram_bot_token", TOKEN)
    await bench.application.vault.set(bench.secret_scope, "telegram_chat_id", CHAT)
    async with (
        telegram_double() as telegram,
        outside_bench(
            bench, free=False, telegram_url=telegram.url, egress_allow=frozenset({telegram.pair})
        ) as open_one,
    ):
        yield open_one, telegram


async def _run(world: World, name: str, *answers: bytes) -> dict[str, Any]:
    async with world[0].worker():
        return await _one(world, name, *answers)


async def _one(world: World, name: str, *answers: bytes) -> dict[str, Any]:
    """A run on a bench that has a worker already."""
    world[1].script = list(answers)
    made = await world[0].dispatch({**_plan(name), **SENDS})
    return await world[0].until(made.run_id)


async def test_a_nudge_is_sent_at_once_under_auto_confirm_safe_and_no_secret_is_kept(
    world: World,
) -> None:
    run = await _run(world, "sent")

    assert run["status"] == "succeeded", run["error"]
    assert run["output"] == {"message_id": 101}
    assert (run["outcome"], run["effects"]) == ("effects", 1)
    assert world[1].messages == [{"chat_id": CHAT, "text": TEXT}]
    (request,) = world[1].requests
    head, _, body = request.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /bot7012345678%3AAAHd")
    assert json.loads(body) == {"text": TEXT}, "nothing secret is in the body"
    stored = await everything(world[0])
    assert TOKEN not in stored
    assert CHAT not in stored
    used = await world[0].application.database.fetch(
        "SELECT subject, detail FROM audit_log WHERE action = 'secret.used' ORDER BY subject"
    )
    assert [row["subject"] for row in used] == ["telegram_bot_token", "telegram_chat_id"]


async def test_it_is_a_draft_by_default_and_pretended_in_verify_mode_and_in_a_dry_run(
    world: World,
) -> None:
    held = await world[0].run(_plan("held"))
    verified = await world[0].run({**_plan("verified"), **SENDS}, mode="verify")
    dry = await world[0].run({**_plan("dry"), **SENDS}, mode="dry_run")

    assert (held["status"], held["outcome"]) == ("succeeded", "drafts_waiting")
    draft = held["output"]
    assert draft.keys() == {
        "kind",
        "action",
        "draft_id",
        "preview",
        "payload",
        "expires_at",
        "hash",
    }
    assert draft["preview"] == f"Nudge the owner on Telegram: {TEXT}"
    assert draft["payload"] == {"text": TEXT}
    for trial in (verified, dry):
        assert trial["output"] == {"kind": "suppressed", "message_id": 128}
        assert [call["outcome"] for call in trial["calls"]] == ["pretended"]
    assert world[1].requests == []


REFUSED = {
    "chat": (refusal(400, "Bad Request: chat not found"), "telegram_chat_not_found"),
    "long": (refusal(400, "Bad Request: message is too long"), "telegram_too_long"),
    "moved": (
        refusal(
            400,
            "Bad Request: group chat was upgraded to a supergroup chat",
            migrate_to_chat_id=-1001234567890,
        ),
        "telegram_chat_moved",
    ),
    "new": (refusal(400, "Bad Request: something new"), "telegram_refused"),
    "token": (refusal(401, "Unauthorized"), "telegram_unauthorized"),
    "blocked": (refusal(403, "Forbidden: bot was blocked by the user"), "telegram_forbidden"),
    "unknown": (refusal(404, "Not Found"), "telegram_unauthorized"),
    "conflict": (refusal(409, "Conflict: terminated by other request"), "telegram_refused"),
    "html": (http_answer(200, b"<html>Sign in</html>"), "telegram_answer"),
    "list": (http_answer(200, b"[1, 2]"), "telegram_answer"),
    "text": (http_answer(200, b'{"ok": "true"}'), "telegram_answer"),
    "no result": (http_answer(200, b'{"ok": true}'), "telegram_answer"),
    "no number": (
        http_answer(200, b'{"ok": true, "result": {"message_id": "7"}}'),
        "telegram_answer",
    ),
    "truth": (http_answer(200, b'{"ok": true, "result": {"message_id": true}}'), "telegram_answer"),
    "deep": (http_answer(200, b"[" * 100_000), "telegram_answer"),
    "redirect": (http_answer(302, b"", "Location: /login"), "telegram_answer"),
    "odd": (http_answer(403, b"no"), "telegram_answer"),
}


async def test_a_refusal_or_an_unknown_server_is_reported_and_not_retried(world: World) -> None:
    async with world[0].worker():
        for name, (answer, code) in REFUSED.items():
            world[1].requests.clear()
            run = await _one(world, name, answer)
            assert (run["status"], run["error"]["code"]) == ("failed", code), (name, run["error"])
            assert run["error"]["status"] == 502, name
            assert [row["status"] for row in run["steps"]] == ["failed"], name
            assert len(world[1].requests) == 1, name


async def test_a_busy_telegram_is_tried_again(world: World) -> None:
    busy = {
        "429": pause(0),
        "500": http_answer(500, b"<html>oops</html>"),
        "502": refusal(502, "Bad Gateway"),
        "header": http_answer(429, b"", "Retry-After: 0"),
    }
    async with world[0].worker():
        for name, answer in busy.items():
            run = await _one(world, name, answer)
            assert run["status"] == "succeeded", (name, run["error"])
            assert [row["status"] for row in run["steps"]] == ["retrying", "succeeded"], name


async def test_the_pause_that_telegram_asks_for_is_kept(world: World) -> None:
    world[1].script = [pause(30), pause(30)]
    made = await world[0].dispatch({**_plan(), **SENDS})
    async with world[0].worker():
        run = await world[0].until(made.run_id, "waiting", "failed")

    assert run["status"] == "waiting"
    (row,) = run["steps"]
    assert (row["error"]["code"], row["error"]["retry_after"]) == ("telegram_busy", 30.0)


async def test_secrets_that_telegram_repeats_are_masked(world: World) -> None:
    run = await _run(world, "echo", refusal(400, f"Bad Request: /bot{TOKEN} to {CHAT}"))

    assert TOKEN not in json.dumps(run, default=str)
    assert "[secret telegram_bot_token] to [secret telegram_chat_id]" in run["error"]["detail"]
    stored = await everything(world[0])
    assert TOKEN not in stored
    assert CHAT not in stored


async def test_an_owner_without_a_bot_is_shown_what_to_store(world: World) -> None:
    bench, telegram = world
    await bench.application.vault.delete(bench.secret_scope, "telegram_chat_id")
    no_chat = await _run(world, "no chat")
    await bench.application.vault.delete(bench.secret_scope, "telegram_bot_token")
    no_bot = await _run(world, "no bot")

    for run, name in ((no_chat, "telegram_chat_id"), (no_bot, "telegram_bot_token")):
        assert (run["status"], run["error"]["code"]) == ("failed", "secret_missing")
        assert f"mainspring secrets set {name}" in run["error"]["suggestion"]
    assert telegram.requests == []


@pytest.mark.parametrize(
    ("config", "pointer"),
    [
        ({}, "/plan/0/config/text"),
        ({"text": ""}, "/plan/0/config/text"),
        ({"text": " \n\t"}, "/plan/0/config/text"),
        ({"text": "x" * 4_097}, "/plan/0/config/text"),
        ({"text": 7}, "/plan/0/config/text"),
        ({"text": "{{ secrets.telegram_bot_token }}"}, "/plan/0/config/text"),
        ({"text": "x", "chat_id": "42"}, "/plan/0/config/chat_id"),
        ({"text": "x", "url": "https://evil.example"}, "/plan/0/config/url"),
    ],
)
def test_a_nudge_that_can_never_be_sent_is_not_saved(config: dict[str, Any], pointer: str) -> None:
    report = validate(document(step("nudge", "telegram_push", config)), WORDS, Limits())
    assert pointer in {finding.pointer for finding in report.findings}
