"""act_on_integration: judged by the action's own words, and then held for a person."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from mainspring.connections.installed_integrations import InstalledIntegrations, install_id_of
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.definition.validate import validate
from mainspring.gate.callers import CapabilityCaller
from mainspring.integration_loader import load_integrations
from mainspring.registry import build_registry
from mainspring.settings import Settings
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.bench import Bench, document, step
from tests.kit.boards import Boards
from tests.kit.outbound_bench import SENDS, outside_bench

EMAIL, SLACK = str(install_id_of("email")), str(install_id_of("slack"))
TELEGRAM = str(install_id_of("telegram"))
REPLY: dict[str, Any] = {
    "install_id": EMAIL,
    "action_name": "send_email",
    "input": {
        "to": ["noah@a16z.com"],
        "subject": "Re: next week",
        "body": "We're in. Friday works for us.",
        "thread_id": "18f2-thread",
    },
}
POST: dict[str, Any] = {
    "install_id": SLACK,
    "action_name": "slack_post",
    "input": {"channel": "C0123", "text": "Hi"},
}


def _plan(arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    return document(step("act", "act_on_integration", arguments), **more)


def test_each_integration_that_writes_is_installed_under_an_id_that_stays() -> None:
    installed = {
        one.name: one for one in InstalledIntegrations(load_integrations(Settings()), Limits())
    }

    assert str(installed["E-mail"].id) == EMAIL == "6237258d-f06e-5c3f-b02b-2de8231e2326"
    assert set(installed["E-mail"].deeds) == {"send_email", "email.notify_owner"}
    assert set(installed["Slack"].deeds) == {"slack_post"}
    assert set(installed["Telegram"].deeds) == {"telegram_push"}
    description = build_registry(Limits()).capabilities["act_on_integration"].description
    for one in installed.values():
        assert str(one.id) in description


async def test_a_run_is_answered_a_draft_with_its_preview_and_payload(bench: Bench) -> None:
    run = await bench.run(_plan(REPLY))

    assert (run["status"], run["outcome"]) == ("succeeded", "drafts_waiting"), run["error"]
    draft = run["output"]
    assert draft.keys() >= {"kind", "draft_id", "action", "preview", "payload", "expires_at"}
    assert draft["kind"] == "draft"
    assert draft["payload"] == REPLY
    assert draft["preview"] == (
        "Send to noah@a16z.com “Re: next week”: We're in. Friday works for us. (It begins a new "
        "conversation: this mail server knows no thread 18f2-thread.)"
    )
    (stored,) = await bench.application.database.fetch(
        "SELECT id, capability, arguments, preview, status FROM drafts"
    )
    assert str(stored["id"]) == draft["draft_id"]
    assert (stored["capability"], stored["status"]) == ("act_on_integration", "pending")
    assert stored["arguments"] == REPLY
    assert stored["preview"] == draft["preview"]


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown install": ({**REPLY, "install_id": str(uuid4())}, "/install_id", EMAIL),
    "a name as id": ({**REPLY, "install_id": "gmail"}, "/install_id", ""),
    "unknown action": ({**REPLY, "action_name": "delete_all"}, "/action_name", "send_email"),
    "another's action": ({**REPLY, "action_name": "slack_post"}, "/action_name", "send_email"),
    "no recipient": ({**REPLY, "input": {"subject": "x", "body": "y"}}, "/input/to", "missing"),
    "to is text": (
        {**REPLY, "input": {**REPLY["input"], "to": "noah@a16z.com"}},
        "/input/to",
        "a list",
    ),
    "no address": ({**REPLY, "input": {**REPLY["input"], "to": ["noah"]}}, "/input/to/0", ""),
    "unknown field": (
        {**REPLY, "input": {**REPLY["input"], "from": "a@b.c"}},
        "/input/from",
        "not known",
    ),
    "another word": (
        {**REPLY, "input": {"to": ["a@b.org"], "subject": "x", "text": "y"}},
        "/input/body",
        "",
    ),
    "thread": ({**REPLY, "input": {**REPLY["input"], "thread_id": 7}}, "/input/thread_id", "text"),
    "a token": (
        {**POST, "input": {**POST["input"], "token": "xoxb-1"}},
        "/input/token",
        "not known",
    ),
    "an empty nudge": (
        {"install_id": TELEGRAM, "action_name": "telegram_push", "input": {"text": ""}},
        "/input/text",
        "",
    ),
    "half a tuple": ({"install_id": EMAIL, "action_name": "send_email"}, "/input", "missing"),
    "half of words": ({"source": "email"}, "/request", "missing"),
    "no words": ({"source": "email", "request": ""}, "/request", ""),
    "long words": ({"source": "email", "request": "x" * 1001}, "/request", ""),
    "to nobody": ({"source": "nobody", "request": "Tell Noah yes."}, "/source", ""),
    "a mixture": ({**REPLY, "request": "Tell Noah yes."}, "/install_id", "not a part of both"),
    "files for Slack": (
        {**POST, "attachments": [{"filename": "a", "content_base64": "YQ=="}]},
        "/attachments",
        "takes no files",
    ),
    "six files": (
        {**REPLY, "attachments": [{"filename": "a", "content_base64": "YQ=="}] * 6},
        "/attachments",
        "",
    ),
    "files of a page": ({**REPLY, "attach_from_page": "a-mail"}, "/attach_from_page", ""),
    "no such place": ({**REPLY, "notify": ["sms"]}, "/notify/0", ""),
    "no batch": ({**REPLY, "batch_id": "one"}, "/batch_id", ""),
}


async def test_what_cannot_be_done_is_refused_with_its_place_before_anything_is_held(
    bench: Bench,
) -> None:
    actor = Actor(bench.application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)
    for name, (arguments, pointer, output) in WRONG.items():
        with pytest.raises(Invalid) as refused:
            await bench.application.gate.direct(
                CapabilityCaller(actor), "act_on_integration", arguments
            )
        found = {finding.pointer: finding for finding in refused.value.findings}
        assert pointer in found, (name, found)
        assert output in found[pointer].detail, (name, found[pointer])
    assert await bench.application.database.fetchval("SELECT count(*) FROM drafts") == 0
    held = await bench.application.gate.direct(CapabilityCaller(actor), "act_on_integration", POST)
    assert held["payload"] == POST
    assert held["preview"] == "Post to C0123 in Slack: Hi"
    assert await bench.application.database.fetchval("SELECT count(*) FROM drafts") == 1


async def test_a_dry_run_and_verify_mode_judge_it_and_hold_nothing(bench: Bench) -> None:
    unknown = {**REPLY, "action_name": "send_telegram"}
    async with bench.worker():
        for mode in ("dry_run", "verify"):
            made = await bench.dispatch(_plan(REPLY, name=mode), mode=mode)
            run = await bench.until(made.run_id)
            assert run["output"]["kind"] == "suppressed", run["error"]
            assert run["output"]["payload"] == REPLY
            assert [call["outcome"] for call in run["calls"]] == ["pretended"]
            made = await bench.dispatch(_plan(unknown, name=f"{mode} wrong"), mode=mode)
            run = await bench.until(made.run_id)
            assert (run["status"], run["error"]["code"]) == ("failed", "arguments_invalid")
            assert run["error"]["errors"][0]["pointer"] == "/action_name"
    assert await bench.application.database.fetchval("SELECT count(*) FROM drafts") == 0


async def test_a_grant_may_pin_the_integration_and_the_action(bench: Bench) -> None:
    pinned = [
        {
            "capability": "act_on_integration",
            "params": {"install_id": EMAIL, "action_name": ["send_email"]},
        }
    ]
    inside = await bench.run(_plan(REPLY, name="inside", grants=pinned))
    chosen = {**POST, "install_id": "{{ inputs.which }}", "action_name": "{{ inputs.what }}"}
    names = {"which": {"type": "string"}, "what": {"type": "string"}}
    asked = {"schema": {"type": "object", "properties": names}}
    outside = await bench.run(
        _plan(chosen, name="outside", grants=pinned, inputs=asked),
        inputs={"which": SLACK, "what": "slack_post"},
    )

    assert inside["outcome"] == "drafts_waiting"
    assert (outside["status"], outside["error"]["code"]) == ("failed", "not_granted")


async def test_no_policy_lets_it_go_without_a_person(
    bench: Bench,
) -> None:
    safe = {"install_id": TELEGRAM, "action_name": "telegram_push", "input": {"text": "Hello"}}
    held = await bench.run({**_plan(safe), **SENDS})
    async with outside_bench(bench, free=True) as freed:
        forced = await freed.run({**_plan(safe, name="forced"), **SENDS})

    assert held["outcome"] == "drafts_waiting"
    assert (forced["status"], forced["error"]["code"]) == ("failed", "cannot_confirm")


async def test_a_script_that_spells_a_secret_in_an_input_is_not_saved(bench: Bench) -> None:
    leaking = {**REPLY, "input": {**REPLY["input"], "body": "{{api_key}}"}}
    source = f"await brains.act_on_integration({json.dumps(leaking)});"
    report = validate(
        document(step("main", "script", {"source": source})),
        bench.application.registry,
        bench.application.limits,
    )
    assert [(one.pointer, one.code) for one in report.findings] == [
        ("/plan/0/config/source", "template_secret")
    ]


async def test_an_install_is_found_through_the_pages_of_its_actions(bench: Bench) -> None:
    boards = Boards(bench.application)
    found = await boards.call("query", q="send an email", type="integration_action")
    slugs = [page["slug"] for page in found["pages"]]
    assert f"integration-action.{install_id_of('email')}.send_email" in slugs
    page = await boards.call("get_page", slug=slugs[0])
    assert page["frontmatter"]["install_id"] in page["slug"]
    assert page["frontmatter"]["action_name"]
    again = await boards.call("list_pages", type="integration_action")
    events = await bench.application.database.fetchval(
        "SELECT count(*) FROM events WHERE type = 'page.ingested'"
    )
    assert events == len(again["pages"]), "looking again writes nothing"
