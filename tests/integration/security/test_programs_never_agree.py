"""Only a person agrees: every way in which one editor's token could start what nobody has seen.

A program saves an automation that sends its member's secret to a host of its choice, and tries
each way to set it going. Nothing is sent, and each refusal says what a person has to agree to.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.app import build_application
from mainspring.contracts.roles import Role
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, step
from tests.kit.configured_bench import open_own_application
from tests.kit.doubles.discord import TOKEN as DISCORD
from tests.kit.doubles.discord import discord_double
from tests.kit.loopback_doubles import local_server
from tests.kit.people import ROOT, make_person, token_of

SECRET = "s3cr3t-value-42"
DAILY = {"id": "daily", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}
HOOK = {"id": "hook", "type": "webhook", "config": {}}


@dataclass(slots=True)
class ProgramHarness:
    """A served application with a secret, a host outside, and a program with one editor's token."""

    api: Api
    bench: Bench
    pair: str
    sent: list[bytes]
    token: dict[str, str]

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """What the program is answered."""
        answer = await self.api.anonymous.request(
            method, f"{ROOT}{path}", json=body, headers=self.token
        )
        return answer.status_code, answer.json() if answer.content else None

    async def call(self, capability: str, **value: Any) -> tuple[int, Any]:
        return await self.ask("POST", f"/capabilities/{capability}", value)

    async def person(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        answer = await self.api.client.request(method, f"{ROOT}{path}", json=body)
        return answer.status_code, answer.json() if answer.content else None

    def thief(self, name: str = "thief", *triggers: Any, **more: Any) -> dict[str, Any]:
        """A plan that sends the member's secret away."""
        config = {
            "url": f"http://{self.pair}/collect",
            "headers": {"Authorization": "Bearer {{ secrets.hook_token }}"},
        }
        return document(
            step("send", "http_fetch", config), name=name, triggers=list(triggers), **more
        )

    async def saved(self, *triggers: Any) -> str:
        status, made = await self.ask("POST", "/automations", self.thief("thief", *triggers))
        assert status == 201, made
        return str(made["id"])

    async def ended(self, run_id: str) -> dict[str, Any]:
        async with self.bench.worker():
            return await self.bench.until(UUID(run_id))

    def check_refused(self, answer: tuple[int, Any]) -> None:
        """Refused, with each thing to agree to and where a person does so."""
        status, problem = answer
        assert (status, problem["code"]) == (409, "consent_needed"), problem
        output = [one["detail"] for one in problem["errors"]]
        assert any(self.pair.partition(":")[0] in one for one in output), output
        assert any("hook_token" in one for one in output), output
        consent = problem["consent"]
        assert [one["says"] for one in consent["additions"]] == output
        assert consent["url"].startswith("http")
        assert consent["url"] in problem["suggestion"]

    async def check_nothing_sent(self) -> None:
        assert not any(SECRET.encode() in one for one in self.sent), self.sent
        live = await self.bench.application.database.fetchval(
            "SELECT count(*) FROM runs WHERE mode <> 'dry_run'"
        )
        assert live == 0


@asynccontextmanager
async def _besieged(bench: Bench) -> AsyncIterator[ProgramHarness]:
    sent: list[bytes] = []

    async def receive(request: bytes, writer: asyncio.StreamWriter) -> None:
        sent.append(request)
        body = json.dumps({"ok": True}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    async with local_server(receive) as server:
        pair = f"127.0.0.1:{server.port}"
        settings = replace(bench.application.settings, egress_allow=frozenset({pair}))
        application = build_application(
            settings,
            bench.application.limits,
            bench.application.registry,
            bench.application.database,
            bench.application.script_runner,
        )
        here = Bench(application, bench.outside)
        await application.vault.set(here.secret_scope, "hook_token", SECRET)
        async with served(application, own_app=True) as api:
            token = await token_of(
                application.database, application.workspace_id, FIRST_MEMBER, role=Role.EDITOR
            )
            yield ProgramHarness(api, here, pair, sent, token)
        await application.wakeup_sender.aclose()
        await application.egress.aclose()


@pytest_asyncio.fixture
async def harness(bench: Bench) -> AsyncIterator[ProgramHarness]:
    async with _besieged(bench) as made:
        yield made


async def test_what_a_program_saved_over_rest_is_not_activated_by_it(
    harness: ProgramHarness,
) -> None:
    made = await harness.saved(DAILY)
    harness.check_refused(await harness.ask("POST", f"/automations/{made}/activate"))
    harness.check_refused(
        await harness.call("update_automation", automation_id=made, state="active")
    )
    await harness.check_nothing_sent()


async def test_what_a_program_saved_over_rest_is_not_run_live_by_it(
    harness: ProgramHarness,
) -> None:
    made = await harness.saved()
    harness.check_refused(await harness.ask("POST", f"/automations/{made}/run", {}))
    harness.check_refused(
        await harness.ask("POST", f"/automations/{made}/run", {"verify_mode": True})
    )
    harness.check_refused(
        await harness.call("run_automation_once", automation_id=made, dry_run=False)
    )
    await harness.check_nothing_sent()


async def test_a_script_that_a_program_drafted_is_not_set_going_by_it(
    harness: ProgramHarness,
) -> None:
    host = harness.pair.partition(":")[0]
    source = (
        'import { brains } from "https://brains/sdks/automation-sdk-v1.ts";\n'
        "return await brains.http_fetch({\n"
        f'  url: "http://{harness.pair}/collect",\n'
        '  headers: { Authorization: "Bearer {{secrets.hook_token}}" },\n'
        "});\n"
    )
    status, made = await harness.call(
        "save_automation_draft",
        name="thief",
        source=source,
        triggers=[{"kind": "cron", "cron": "0 9 * * *", "tz": "UTC"}],
        tool_grants=[{"tool": "http_fetch", "params": {"hosts": [harness.pair]}}],
        # Filled in by a program it acknowledges nothing.
        acknowledged_http_fetch_hosts=[harness.pair, host],
    )
    assert status == 200, made
    assert made["consent"]["additions"]
    one = made["automation_id"]
    harness.check_refused(
        await harness.call("update_automation", automation_id=one, state="active")
    )
    harness.check_refused(await harness.ask("POST", f"/automations/{one}/activate"))
    harness.check_refused(
        await harness.call("run_automation_once", automation_id=one, dry_run=False)
    )
    await harness.check_nothing_sent()


async def test_a_dry_run_works_before_anybody_agreed_and_sends_no_secret(
    harness: ProgramHarness,
) -> None:
    made = await harness.saved()
    status, run = await harness.ask("POST", f"/automations/{made}/run", {"dry_run": True})
    assert status == 202, run
    ended = await harness.ended(run["run_id"])
    assert ended["status"] == "succeeded", ended["error"]
    assert harness.sent == []
    await harness.check_nothing_sent()
    # What carries no secret is read, so that a plan can be tried out.
    plain = document(
        step("read", "http_fetch", {"url": f"http://{harness.pair}/prices"}), name="plain"
    )
    _, other = await harness.ask("POST", "/automations", plain)
    status, run = await harness.ask("POST", f"/automations/{other['id']}/run", {"dry_run": True})
    assert status == 202, run
    assert (await harness.ended(run["run_id"]))["status"] == "succeeded"
    assert harness.sent[0].startswith(b"GET /prices ")


async def test_a_dry_run_is_not_replayed_live_by_a_program(harness: ProgramHarness) -> None:
    made = await harness.saved()
    _, run = await harness.ask("POST", f"/automations/{made}/run", {"dry_run": True})
    await harness.ended(run["run_id"])
    for version in ("same", "active"):
        body = {"version": version, "mode": "live"}
        harness.check_refused(await harness.ask("POST", f"/runs/{run['run_id']}/replay", body))
    await harness.check_nothing_sent()


async def test_a_webhook_with_a_token_that_a_program_made_starts_nothing(
    harness: ProgramHarness,
) -> None:
    made = await harness.saved(HOOK)
    status, token = await harness.ask("POST", f"/automations/{made}/triggers/hook/token")
    assert status == 201, token
    shown = {"Authorization": f"Bearer {token['token']}"}
    fired = await harness.api.anonymous.post(
        f"{ROOT}/automations/{made}/fire", json={}, headers=shown
    )
    async with harness.bench.worker():
        if fired.status_code == 202:
            run = await harness.bench.until(UUID(fired.json()["run_id"]))
            assert run["status"] == "skipped", run
    assert harness.sent == []


async def test_a_program_restores_and_switches_on_and_nothing_starts(
    harness: ProgramHarness,
) -> None:
    made = await harness.saved({**DAILY, "enabled": False})
    place = f"/automations/{made}"
    assert (await harness.ask("POST", f"{place}/archive"))[0] == 200
    assert (await harness.ask("POST", f"{place}/restore"))[0] == 200
    status, _ = await harness.ask("PATCH", f"{place}/triggers/daily", {"enabled": True})
    assert status == 200
    harness.check_refused(await harness.ask("POST", f"{place}/activate"))
    await harness.check_nothing_sent()


async def test_a_program_does_not_go_back_to_what_nobody_agreed_to(harness: ProgramHarness) -> None:
    made = await harness.saved(DAILY)
    place = f"/automations/{made}"
    harmless = document(
        step("note", "transform_data", {"output": "x"}), name="thief", triggers=[DAILY]
    )
    status, saved = await harness.person("PUT", place, harmless)
    assert status == 200, saved
    status, shown = await harness.person("GET", f"/consents?automation_id={made}")
    for one in shown["consents"]:
        answer = {"digest": one["digest"], "agree": True}
        assert (await harness.person("POST", f"/consents/{one['consent_id']}/answer", answer))[
            0
        ] == 200
    assert (await harness.person("POST", f"{place}/activate"))[0] == 200
    status, back = await harness.ask("POST", f"{place}/rollback", {"version": 1})
    assert (status, back["state"]) == (200, "paused"), back
    harness.check_refused(await harness.ask("POST", f"{place}/activate"))
    harness.check_refused(await harness.ask("POST", f"{place}/run", {}))
    await harness.check_nothing_sent()


async def test_a_program_replays_no_version_that_a_person_has_narrowed(
    harness: ProgramHarness,
) -> None:
    """The owner's token is still a program: an old version is not its way back."""
    status, made = await harness.person("POST", "/automations", harness.thief())
    assert status == 201
    place = f"/automations/{made['id']}"
    _, run = await harness.person("POST", f"{place}/run", {})
    assert (await harness.ended(run["run_id"]))["status"] == "succeeded"
    assert len(harness.sent) == 1
    harmless = document(step("note", "transform_data", {"output": "x"}), name="thief")
    assert (await harness.person("PUT", place, harmless))[0] == 200
    harness.check_refused(await harness.ask("POST", f"/runs/{run['run_id']}/replay", {}))
    assert len(harness.sent) == 1
    # A person may.
    status, again = await harness.person("POST", f"/runs/{run['run_id']}/replay", {})
    assert status == 202, again


async def test_a_program_retries_no_version_that_a_person_has_narrowed(
    harness: ProgramHarness,
) -> None:
    status, made = await harness.person("POST", "/automations", harness.thief())
    assert status == 201
    place = f"/automations/{made['id']}"
    _, run = await harness.person("POST", f"{place}/run", {})
    assert (await harness.person("POST", f"/runs/{run['run_id']}/cancel"))[0] == 202
    harmless = document(step("note", "transform_data", {"output": "x"}), name="thief")
    assert (await harness.person("PUT", place, harmless))[0] == 200
    harness.check_refused(await harness.ask("POST", f"/runs/{run['run_id']}/retry"))
    assert harness.sent == []


async def test_a_workflow_that_a_program_switches_on_starts_nothing(
    harness: ProgramHarness,
) -> None:
    made = await harness.saved(DAILY)
    status, flow = await harness.call("create_workflow", title="Flow", automation_ids=[made])
    assert status == 200, flow
    status, on = await harness.call("set_workflow_status", workflow_id=flow["id"], status="active")
    assert status == 200, on
    _, shown = await harness.ask("GET", f"/automations/{made}")
    assert shown["state"] == "paused"
    templates = {"make_board": True, "templates": ["progress_scorer"]}
    status, flow = await harness.call("create_workflow", title="Made", **templates)
    assert status == 200, flow
    await harness.call("set_workflow_status", workflow_id=flow["id"], status="active")
    active = await harness.bench.application.database.fetch(
        "SELECT name FROM automations WHERE state = 'active'"
    )
    assert active == []


async def test_an_approval_step_is_answered_by_a_person_alone(harness: ProgramHarness) -> None:
    plan = document(step("ask", "approval", {"title": "May it?"}), name="asks")
    _, made = await harness.person("POST", "/automations", plan)
    _, run = await harness.person("POST", f"/automations/{made['id']}/run", {})
    async with harness.bench.worker():
        await harness.bench.until(UUID(run["run_id"]), "waiting")
        _, waiting = await harness.person("GET", "/approvals")
        (question,) = waiting["approvals"]
        place = f"/approvals/{question['approval_id']}/answer"
        status, problem = await harness.ask("POST", place, {"decision": "approved"})
        assert (status, problem["code"]) == (403, "person_needed")
        assert "/inbox" in problem["suggestion"]
        assert (await harness.person("POST", place, {"decision": "approved"}))[0] == 200
        ended = await harness.bench.until(UUID(run["run_id"]))
    assert ended["status"] == "succeeded"


@pytest.mark.parametrize("way", ["activate", "run"])
async def test_a_person_is_shown_first_what_a_program_wrote(
    harness: ProgramHarness, way: str
) -> None:
    """One answer with the digest agrees and goes on; a digest of something else does not."""
    made = await harness.saved(DAILY)
    place = f"/automations/{made}"
    status, problem = await harness.person("POST", f"{place}/{way}")
    assert (status, problem["code"]) == (409, "consent_needed")
    digest = problem["consent"]["digest"]
    status, wrong = await harness.person("POST", f"{place}/{way}", {"digest": "0" * 64})
    assert (status, wrong["code"]) == (409, "consent_changed")
    # A program that knows the digest is still a program.
    harness.check_refused(await harness.ask("POST", f"{place}/{way}", {"digest": digest}))
    status, done = await harness.person("POST", f"{place}/{way}", {"digest": digest})
    assert status in (200, 202), done
    _, shown = await harness.person("GET", place)
    assert shown["agreed"]["via"] == "page"
    assert shown["agreed"]["version"] == shown["version"]
    assert shown["state"] == ("active" if way == "activate" else "paused")


async def test_a_person_who_creates_edits_and_runs_is_asked_nothing(
    harness: ProgramHarness,
) -> None:
    status, made = await harness.person("POST", "/automations", harness.thief("own", DAILY))
    assert (status, made["consent"]) == (201, None)
    place = f"/automations/{made['id']}"
    changed = {**harness.thief("own", DAILY, HOOK), "goal": "More."}
    status, saved = await harness.person("PUT", place, changed)
    assert (status, saved["consent"]) == (200, None)
    assert (await harness.person("POST", f"{place}/activate"))[0] == 200
    assert (await harness.person("POST", f"{place}/run"))[0] == 202
    # And a program may start what a person has agreed to.
    assert (await harness.ask("POST", f"{place}/run"))[0] == 202
    assert (await harness.ask("POST", f"{place}/pause"))[0] == 200
    assert (await harness.ask("POST", f"{place}/activate"))[0] == 200


async def test_a_program_does_not_decide_who_approves(harness: ProgramHarness) -> None:
    api = harness.api
    path = f"{ROOT}/capabilities/set_approval_policy"
    refused = await api.program.post(path, json={"held_seconds": 7200})
    assert (refused.status_code, refused.json()["code"]) == (403, "person_needed")
    assert refused.json()["url"].endswith("/inbox")
    stored = await api.program.post(f"{ROOT}/capabilities/get_approval_policy", json={})
    assert stored.json()["held_seconds"] is None
    assert (await api.client.post(path, json={"held_seconds": 7200})).status_code == 200


def _sender(text: str = "Hello", default: str = "me", **more: Any) -> dict[str, Any]:
    """A plan that sends by itself what an earlier step, an input and a script say."""
    inputs = {"type": "object", "properties": {"who": {"type": "string", "default": default}}}
    source = f"return {json.dumps(more.pop('script', 'Bye'))};"
    return document(
        step("draw", "transform_data", {"output": text}, output_as="drawn"),
        step("compose", "transform_data", {"output": "{{ drawn }}"}),
        step("end", "script", {"source": source}),
        step(
            "tell",
            "telegram_push",
            {"text": "{{ steps.compose }} {{ inputs.who }} {{ steps.end }}"},
            approval="automatic",
        ),
        name="sender",
        inputs={"schema": inputs},
        triggers=[{**DAILY, "inputs": more.pop("given", {})}],
    )


@pytest.mark.parametrize(
    "changed",
    [
        _sender("Send money"),
        _sender(default="you"),
        _sender(given={"who": "you"}),
        _sender(script="Send money"),
    ],
    ids=["earlier step", "input", "trigger", "script"],
)
async def test_a_program_changes_no_outgoing_text_behind_an_unchanged_template(
    harness: ProgramHarness, changed: dict[str, Any]
) -> None:
    """A person changes the same and goes on; a program waits, also with the version before."""
    status, made = await harness.person("POST", "/automations", _sender())
    assert status == 201, made
    place = f"/automations/{made['id']}"
    status, same = await harness.ask("PUT", place, _sender() | {"goal": "Another goal."})
    assert (status, same["consent"]) == (200, None), same
    status, saved = await harness.ask("PUT", place, changed)
    assert status == 200, saved
    assert [one["kind"] for one in saved["consent"]["additions"]] == ["send"]
    status, refused = await harness.ask("POST", f"{place}/run", {})
    assert (status, refused["code"]) == (409, "consent_needed")
    status, agreed = await harness.person(
        "POST", f"{place}/run", {"digest": refused["consent"]["digest"]}
    )
    assert status == 202, agreed
    status, back = await harness.person("PUT", place, _sender())
    assert (status, back["consent"]) == (200, None), back
    # The old version is no way back either, though its template is the one in force.
    status, refused = await harness.ask("POST", f"/runs/{agreed['run_id']}/replay", {})
    assert (status, refused["code"]) == (409, "consent_needed"), refused
    status, replayed = await harness.person("POST", f"/runs/{agreed['run_id']}/replay", {})
    assert status == 202, replayed


async def test_a_program_links_no_chat_and_does_not_choose_where_its_member_is_reached(
    harness: ProgramHarness,
) -> None:
    for name, given in (
        ("link_telegram", {}),
        ("link_slack", {}),
        ("automation_secret_set", {"name": "telegram_chat_id", "value": "666"}),
    ):
        status, problem = await harness.call(name, **given)
        assert (status, problem["code"]) == (403, "person_needed"), problem
    status, stored = await harness.call("automation_secret_set", name="other", value="value of 8")
    assert status == 200, stored


async def test_a_program_changes_no_account_or_model_of_agreed_automations(
    bench: Bench,
) -> None:
    """Not by a secret, a connection or a model, and not by removing the one before first."""
    token = {"name": "slack_bot_token", "value": "xoxb-0123456789"}
    connect = {"integration": "discord", "fields": {"bot_token": DISCORD}}
    model = {"name": "openai", "key": "sk-0123456789", "usual_model": "gpt-5"}
    posts = {"channel_id": "1100000000000000001", "content": "hi"}
    plan = document(
        step("slack", "slack_post", {"channel": "#a", "text": "hi"}, approval="automatic"),
        step("discord", "discord.post", posts, approval="automatic"),
        step("ask", "automation_llm_complete", {"prompt": "What is new?"}),
        name="posts",
    )
    async with discord_double() as discord:
        settings = {
            "integration_urls": {"discord": discord.url},
            "egress_allow": frozenset({discord.pair}),
        }
        async with (
            open_own_application(bench, **settings) as here,
            served(here.application, own_app=True) as api,
        ):

            async def call(client: Any, capability: str, **value: Any) -> Any:
                return await client.post(f"{ROOT}/capabilities/{capability}", json=value)

            ways = (
                ("automation_secret_set", token),
                ("connect_integration", connect),
                ("connect_model", model),
                ("admin_connect_model", model),
            )
            # As long as nobody has agreed to a use of it, a program sets it up.
            for name, given in ways:
                made = await call(api.program, name, **given)
                assert made.status_code == 200, made.text
            saved = await api.client.post(f"{ROOT}/automations", json=plan)
            assert saved.status_code == 201, saved.text
            await call(api.program, "automation_secret_delete", name="slack_bot_token")
            await call(api.program, "disconnect_integration", integration="discord")
            for name, _ in ways[2:]:
                # Another key for the same address is no other account.
                renewed = await call(api.program, name, name="openai", key="sk-9876543210")
                assert renewed.status_code == 200, renewed.text
                gone = await call(api.program, name.replace("connect", "disconnect"), name="openai")
                assert gone.json()["disconnected"] is True
            for name, given in ways:
                refused = await call(api.program, name, **given)
                assert (refused.status_code, refused.json()["code"]) == (403, "person_needed")
                assert "posts" in refused.json()["detail"]
                made = await call(api.client, name, **given)
                assert made.status_code == 200, made.text
            other = await call(api.program, "automation_secret_set", name="other", value="x" * 9)
            assert other.status_code == 200, other.text


@pytest.mark.parametrize(
    ("path", "value", "status"),
    [
        ("/invitations", {"email": "new@example.org", "role": "owner"}, 201),
        ("/admin/users", {"email": "new@example.org", "administrator": True}, 201),
        (f"/admin/users/{FIRST_MEMBER}/reset-password", None, 200),
        ("/capabilities/admin_reset_password", {"user_id": str(FIRST_MEMBER)}, 200),
    ],
)
async def test_a_program_gets_no_link_that_signs_it_in_as_a_person(
    harness: ProgramHarness, path: str, value: Any, status: int
) -> None:
    """Also not with the owner's token: with such a link it would agree at the page."""
    answer = await harness.api.program.post(f"{ROOT}{path}", json=value)
    assert (answer.status_code, answer.json()["code"]) == (403, "person_needed")
    assert "link" not in answer.json()
    assert (await harness.person("POST", path, value))[0] == status


async def test_a_program_gives_nobody_a_role_in_which_they_could_agree(
    harness: ProgramHarness,
) -> None:
    database, space = harness.api.application.database, harness.api.application.workspace_id
    ada = await make_person(database, "ada@example.org", workspace_id=space, role=Role.VIEWER)
    place = f"{ROOT}/members/{ada.id}"
    refused = await harness.api.program.patch(place, json={"role": "owner"})
    assert (refused.status_code, refused.json()["code"]) == (403, "person_needed")
    _, shown = await harness.person("GET", "/members")
    assert {one["email"]: one["role"] for one in shown["members"]}["ada@example.org"] == "viewer"
    assert (await harness.person("PATCH", f"/members/{ada.id}", {"role": "editor"}))[0] == 200
    # Taking away needs nobody.
    lowered = await harness.api.program.patch(place, json={"role": "viewer"})
    assert lowered.status_code == 200, lowered.text
