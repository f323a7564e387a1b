"""``slack_post`` in whole runs, against a double of Slack's API on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from mainspring.definition.validate import validate
from tests.kit.bench import Bench, document, step
from tests.kit.outbound_bench import SENDS, everything, outside_bench
from tests.kit.scripted_server import http_answer
from tests.kit.slack import TOKEN, SlackDouble, refusal, slack_double

SECRET = "{{ secrets.slack_bot_token }}"
POST = {"channel": "C0123", "text": "Grüße an {{ inputs.who }}", "token": SECRET}
INPUTS = {"schema": {"type": "object", "properties": {"who": {"type": "string"}}}}

World = tuple[Bench, SlackDouble]


def _plan(config: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    at_once = {"retry_backoff": "none", "max_retries": 1}
    return document(step("tell", "slack_post", config or POST, **at_once), inputs=INPUTS, **more)


@pytest_asyncio.fixture
async def world(bench: Bench) -> AsyncIterator[World]:
    """A bench that may post, with a Slack on loopback that the operator has allowed."""
    await bench.application.vault.set(bench.secret_scope, "slack_bot_token", TOKEN)
    async with (
        slack_double() as slack,
        outside_bench(
            bench, free=True, slack_url=slack.url, egress_allow=frozenset({slack.pair})
        ) as open_one,
    ):
        yield open_one, slack


async def _run(world: World, config: dict[str, Any] | None = None) -> dict[str, Any]:
    return await world[0].run({**_plan(config), **SENDS}, inputs={"who": "Ada"})


async def test_a_message_is_posted_and_the_token_is_in_no_table(world: World) -> None:
    run = await _run(world, {**POST, "thread_ts": "1503435956.000247"})

    assert run["status"] == "succeeded", run["error"]
    assert run["output"] == {"channel": "C0123", "ts": "1503435956.000001"}
    assert world[1].messages == [
        {"channel": "C0123", "text": "Grüße an Ada", "thread_ts": "1503435956.000247"}
    ]
    assert (run["outcome"], run["effects"]) == ("effects", 1)
    assert TOKEN not in await everything(world[0])


async def test_a_grant_for_the_capability_is_enough_and_none_is_too_little(world: World) -> None:
    granted = _plan(grants=[{"capability": "slack_post", "params": {"channel": ["C0123"]}}])
    run = await world[0].run({**granted, **SENDS}, inputs={"who": "Ada"})
    elsewhere = {**POST, "channel": "C0{{ inputs.who }}"}
    refused = await world[0].run(
        {
            **_plan(elsewhere, name="other", grants=granted["grants"]),
            **SENDS,
        },
        inputs={"who": "456"},
    )

    assert run["status"] == "succeeded", run["error"]
    assert (refused["status"], refused["outcome"]) == ("failed", "blocked")
    assert len(world[1].messages) == 1


@pytest.mark.parametrize(
    "error",
    [
        "channel_not_found",
        "not_in_channel",
        "is_archived",
        "invalid_auth",
        "token_revoked",
        "msg_too_long",
        "missing_scope",
        "some_new_error",
    ],
)
async def test_a_refusal_of_slack_is_reported_and_not_tried_again(world: World, error: str) -> None:
    world[1].script = [refusal(error)]
    run = await _run(world)

    assert (run["status"], run["error"]["code"]) == ("failed", f"slack_{error}")
    assert [row["status"] for row in run["steps"]] == ["failed"]
    assert run["error"]["status"] == 502


@pytest.mark.parametrize(
    "busy",
    [
        http_answer(429, b'{"ok":false,"error":"ratelimited"}', "Retry-After: 0"),
        http_answer(500, b"<html>oops</html>"),
        http_answer(503, b""),
        refusal("ratelimited"),
        refusal("internal_error"),
    ],
    ids=["429", "500", "503", "ratelimited", "internal_error"],
)
async def test_a_busy_slack_is_tried_again(world: World, busy: bytes) -> None:
    world[1].script = [busy]
    run = await _run(world)

    assert run["status"] == "succeeded", run["error"]
    assert [row["status"] for row in run["steps"]] == ["retrying", "succeeded"]


async def test_the_pause_that_slack_asks_for_is_kept(world: World) -> None:
    asked = http_answer(429, b'{"ok":false,"error":"ratelimited"}', "Retry-After: 30")
    world[1].script = [asked, asked]
    made = await world[0].dispatch({**_plan(), **SENDS}, inputs={"who": "Ada"})
    async with world[0].worker():
        run = await world[0].until(made.run_id, "waiting", "failed")

    assert run["status"] == "waiting"
    (row,) = run["steps"]
    assert (row["error"]["code"], row["error"]["retry_after"]) == ("slack_ratelimited", 30.0)


@pytest.mark.parametrize(
    "answer",
    [
        http_answer(200, b"<html>Sign in</html>"),
        http_answer(200, b"[1, 2]"),
        http_answer(200, b'{"ok": "true"}'),
        http_answer(200, b'{"ok": true}'),
        http_answer(200, b'{"ok": true, "channel": 7, "ts": "1.2"}'),
        http_answer(200, b"[" * 100_000),
        http_answer(302, b"", "Location: /login"),
        http_answer(404, b"nothing here"),
        http_answer(200, json.dumps({"ok": False, "error": "No! " * 500}).encode()),
    ],
    ids=["html", "list", "text", "no ts", "number", "deep", "redirect", "404", "odd error"],
)
async def test_what_does_not_speak_as_slack_is_a_clear_failure(world: World, answer: bytes) -> None:
    world[1].script = [answer]
    run = await _run(world)

    assert [row["status"] for row in run["steps"]] == ["failed"]
    assert run["error"]["code"] in {"slack_answer", "slack_status", "slack_unknown_error"}
    assert len(world[1].requests) == 1


async def test_a_slack_that_does_not_answer_is_left_in_time(world: World) -> None:
    world[1].script = [None]
    slow = {**_plan(), **SENDS}
    slow["plan"][0] |= {"timeout_seconds": 1, "max_retries": 0}
    run = await world[0].run(slow, inputs={"who": "Ada"})

    assert (run["status"], run["error"]["code"]) == ("timed_out", "step_timeout")
    assert len(world[1].requests) == 1


async def test_a_token_that_slack_repeats_is_masked(world: World) -> None:
    output = {"ok": True, "channel": TOKEN, "ts": "1.2"}
    world[1].script = [http_answer(200, json.dumps(output).encode())]
    run = await _run(world)

    assert run["output"]["channel"] == "[secret slack_bot_token]"
    assert TOKEN not in await everything(world[0])


@pytest.mark.parametrize(
    ("token", "code"), [("{{ inputs.who }}", "secret_needed"), (f"x{SECRET}", "config_invalid")]
)
async def test_a_token_that_is_not_a_secret_is_refused_before_anything_leaves(
    world: World, token: str, code: str
) -> None:
    plan = {**_plan({**POST, "token": token}), **SENDS}
    run = await world[0].run(plan, inputs={"who": "[secret slack_bot_token]"})

    assert (run["status"], run["error"]["code"]) == ("failed", code)
    assert run["error"]["errors"][0]["pointer"].endswith("/token")
    assert world[1].requests == []


async def test_a_secret_that_is_not_there_is_named(world: World) -> None:
    run = await _run(world, {**POST, "token": "{{ secrets.other }}"})

    assert run["error"]["code"] == "secret_missing"
    assert world[1].requests == []


async def test_a_step_that_names_no_token_posts_as_the_owner_s_bot_or_says_who_is_missing(
    world: World,
) -> None:
    unnamed = {key: value for key, value in POST.items() if key != "token"}
    run = await _run(world, unnamed)
    assert run["status"] == "succeeded", run["error"]
    bench = world[0]
    await bench.application.vault.delete(bench.secret_scope, "slack_bot_token")
    plan = {**_plan(unnamed, name="nobody"), **SENDS}
    nobody = await bench.run(plan, inputs={"who": "Ada"})

    assert (nobody["status"], nobody["error"]["code"]) == ("failed", "slack_not_connected")
    assert "Connect Slack" in nobody["error"]["suggestion"]
    assert len(world[1].messages) == 1


async def test_a_private_slack_needs_the_operator_s_word(bench: Bench) -> None:
    await bench.application.vault.set(bench.secret_scope, "slack_bot_token", TOKEN)
    async with (
        slack_double() as slack,
        outside_bench(bench, free=True, slack_url=slack.url) as open_one,
    ):
        run = await open_one.run({**_plan(), **SENDS}, inputs={"who": "Ada"})

    assert (run["status"], run["outcome"]) == ("failed", "blocked")
    assert slack.requests == []


@pytest.mark.parametrize("write_policy", ["always_draft", "auto_confirm_safe"])
async def test_a_message_is_held_under_every_policy_until_somebody_agrees(
    bench: Bench, write_policy: str
) -> None:
    await bench.application.vault.set(bench.secret_scope, "slack_bot_token", TOKEN)
    plan = _plan(execution={"write_policy": write_policy})
    async with (
        slack_double() as slack,
        outside_bench(
            bench, free=False, slack_url=slack.url, egress_allow=frozenset({slack.pair})
        ) as open_one,
    ):
        run = await open_one.run(plan, inputs={"who": "Ada"})

    assert (run["status"], run["outcome"]) == ("succeeded", "drafts_waiting")
    (draft,) = await bench.application.database.fetch("SELECT arguments, preview FROM drafts")
    assert draft["preview"] == "Post to C0123 in Slack: Grüße an Ada"
    assert draft["arguments"]["token"] == "[secret slack_bot_token]"
    assert slack.requests == []


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"token": TOKEN}, "/plan/0/config/token"),
        ({"token": ""}, "/plan/0/config/token"),
        ({"text": ""}, "/plan/0/config/text"),
        ({"text": "x" * 40_001}, "/plan/0/config/text"),
        ({"text": SECRET}, "/plan/0/config/text"),
        ({"channel": "a b"}, "/plan/0/config/channel"),
        ({"thread_ts": 1503435956.0}, "/plan/0/config/thread_ts"),
        ({"url": "https://evil.example"}, "/plan/0/config/url"),
    ],
)
async def test_a_message_that_can_never_be_posted_is_not_saved(
    bench: Bench, change: dict[str, Any], pointer: str
) -> None:
    report = validate(
        _plan({**POST, **change}), bench.application.registry, bench.application.limits
    )
    assert pointer in {finding.pointer for finding in report.findings}
