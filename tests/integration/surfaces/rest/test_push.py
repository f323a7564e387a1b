"""Notifications in a person's own browsers: subscribing, what is sent, and who gets nothing."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.contracts.context import Actor
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.outbound.web_push import PushDelivery
from mainspring.runs.run_requests import RunRequest
from mainspring.triggers.alerts import CONSUMER, FailureAlerts
from mainspring.triggers.log_reader import EventLogReader
from mainspring.workspace.automations import FIRST_MEMBER, set_state
from mainspring.workspace.people.sessions import IDLE, delete_expired_sessions
from mainspring.workspace.push_subscriptions import MOST_SUBSCRIPTIONS, TRIES
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, step
from tests.kit.configured_bench import open_own_application
from tests.kit.people import PASSWORD, ROOT, Browser, browser, cheap, make_person
from tests.kit.push_service import PushServiceDouble, SubscribedBrowser, push_service
from tests.kit.scripted_server import http_answer

SUBSCRIPTIONS = "/me/push/subscriptions"
PRIVATE = "PRIVATE-TEXT"
_AHEAD = """
    SELECT EXISTS (SELECT 1 FROM events e, event_cursors c
        WHERE c.consumer = $1 AND (e.xid, e.id) > (c.xid, c.id))
"""


@dataclass(slots=True)
class World:
    """The first member's browser, and the push service that it subscribes to."""

    bench: Bench
    api: Api
    at: Browser
    service: PushServiceDouble

    @property
    def delivery(self) -> PushDelivery:
        return PushDelivery(self.api.application.database, self.api.application.push)

    async def deliver(self) -> None:
        """Sends everything that is due."""
        while await self.delivery.once():
            pass

    async def browser(self, at: Browser | None = None) -> SubscribedBrowser:
        """A browser that has been given the server's key."""
        found = (await (at or self.at).ask("GET", "/me/push")).json()
        return self.service.subscribe(found["public_key"])

    async def subscribe(
        self, at: Browser | None = None, **more: Any
    ) -> tuple[SubscribedBrowser, dict[str, Any]]:
        made = await self.browser(at)
        return made, await self.register(made, at, **more)

    async def register(
        self, made: SubscribedBrowser, at: Browser | None = None, **more: Any
    ) -> dict[str, Any]:
        answer = await (at or self.at).ask("POST", SUBSCRIPTIONS, json=made.as_json(**more))
        assert answer.status_code == 200, answer.text
        saved: dict[str, Any] = answer.json()
        return saved

    async def listed(self, at: Browser | None = None) -> list[dict[str, Any]]:
        answer = await (at or self.at).ask("GET", "/me/push")
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["subscriptions"]
        return found

    async def draft(self, member_id: UUID = FIRST_MEMBER, role: Role = Role.OWNER) -> str:
        """A write that a person's client has asked for, and that waits for them."""
        caller = CapabilityCaller(
            Actor(self.api.application.workspace_id, "member", member_id, role=role)
        )
        made = await self.api.application.gate.direct(caller, "test.mail", {"mark": PRIVATE})
        return str(made["draft_id"])

    async def waits(self, action: str, config: dict[str, Any], name: str) -> UUID:
        """A run that has come to what waits for its owner; answers the run."""
        made = await self.bench.dispatch(document(step("one", action, config), name=name))
        async with self.bench.worker():
            await self.bench.until(made.run_id, "succeeded", "waiting", "sleeping")
        return made.run_id

    async def messages(self) -> list[dict[str, Any]]:
        rows = await self.api.application.database.fetch(
            "SELECT *, due_at - now() AS pause FROM push_messages ORDER BY id"
        )
        return [dict(row) for row in rows]


@pytest_asyncio.fixture
async def world(bench: Bench) -> AsyncIterator[World]:
    async with push_service() as service, _world(bench, service) as made:
        yield made


@asynccontextmanager
async def _world(bench: Bench, service: PushServiceDouble) -> AsyncIterator[World]:
    async with (
        open_own_application(bench, egress_allow=frozenset({service.pair})) as own,
        served(replace(own.application, passwords=cheap())) as api,
        browser(api, FIRST_MEMBER) as at,
    ):
        yield World(own, api, at, service)


# --- subscribing


async def test_a_test_notification_reaches_the_browser(world: World) -> None:
    made, saved = await world.subscribe()
    assert saved["kinds"] == ["drafts", "questions", "failures"]
    assert saved["endpoint_hash"] == made.endpoint_hash
    assert made.endpoint not in str(await world.listed())
    sent = await world.at.ask("POST", f"{SUBSCRIPTIONS}/{saved['id']}/test")
    assert sent.status_code == 204, sent.text
    (shown,) = made.shown
    assert shown == {
        "title": "Notifications work",
        "body": "Mainspring can reach this device.",
        "link": "/settings/you",
        "tag": "test",
    }
    (claims,) = world.service.claims
    assert claims["aud"] == world.service.url
    assert time.time() + 3600 < claims["exp"] <= time.time() + 24 * 3600
    (one,) = await world.listed()
    assert one["current"]
    assert one["sent_at"] is not None
    # A person finds out how often they tested, and so does nobody else's push service.
    for _ in range(4):
        await world.at.ask("POST", f"{SUBSCRIPTIONS}/{saved['id']}/test")
    often = await world.at.ask("POST", f"{SUBSCRIPTIONS}/{saved['id']}/test")
    assert (often.status_code, often.json()["code"]) == (429, "too_many_tries")


async def test_the_key_is_made_once_and_is_in_the_vault(world: World) -> None:
    keys = await asyncio.gather(*(world.api.application.push.public_key() for _ in range(4)))
    async with open_own_application(world.bench) as other:
        keys.append(await other.application.push.public_key())
    assert len(set(keys)) == 1
    database = world.api.application.database
    assert await database.fetchval("SELECT count(*) FROM secrets WHERE name LIKE 'vapid%'") == 1


async def test_only_a_signed_in_browser_subscribes(world: World) -> None:
    made = await world.browser()
    for method, path, body in (
        ("GET", "/me/push", None),
        ("POST", SUBSCRIPTIONS, made.as_json()),
        ("DELETE", f"{SUBSCRIPTIONS}/{generate_id()}", None),
        ("POST", f"{SUBSCRIPTIONS}/{generate_id()}/test", None),
    ):
        program = await world.api.program.request(method, ROOT + path, json=body)
        assert (program.status_code, program.json()["code"]) == (409, "needs_session"), path
        anonymous = await world.api.anonymous.request(method, ROOT + path, json=body)
        assert anonymous.status_code == 401, path
    assert await world.listed() == []


@pytest.mark.parametrize(
    ("endpoint", "code"),
    [
        ("https://127.0.0.1:9/push", "address_not_public"),
        ("https://localhost/push", "address_not_public"),
        ("https://10.0.0.7/push", "address_not_public"),
        ("https://169.254.169.254/latest/meta-data", "address_not_public"),
        ("https://[::1]/push", "address_not_public"),
        ("http://93.184.216.34/push", "bad_subscription"),
        ("https://me:pass@93.184.216.34/push", "bad_url"),
        ("file:///etc/passwd", "bad_url"),
        ("https://93.184.216.34/" + "ü" * 1_900, "bad_subscription"),
    ],
)
async def test_an_endpoint_that_may_not_be_called_is_refused(
    world: World, endpoint: str, code: str
) -> None:
    made = replace(await world.browser(), endpoint=endpoint)
    answer = await world.at.ask("POST", SUBSCRIPTIONS, json=made.as_json())
    assert (answer.status_code, answer.json()["code"]) == (422, code), answer.text
    assert [one["pointer"] for one in answer.json()["errors"]] == ["/endpoint"]
    assert await world.listed() == []


async def test_keys_that_cannot_encrypt_are_refused(world: World) -> None:
    made = (await world.browser()).as_json()
    for keys, pointer in (
        ({**made["keys"], "auth": "AAAA"}, "/keys/auth"),
        ({**made["keys"], "auth": "no base64!"}, "/keys/auth"),
        ({**made["keys"], "p256dh": "AAAA"}, "/keys/p256dh"),
        # 65 bytes that are no point on the curve.
        ({**made["keys"], "p256dh": "BA" + "A" * 85}, "/keys/p256dh"),
    ):
        answer = await world.at.ask("POST", SUBSCRIPTIONS, json={**made, "keys": keys})
        assert answer.status_code == 422, answer.text
        assert [one["pointer"] for one in answer.json()["errors"]] == [pointer]


async def test_the_same_browser_has_one_subscription_and_keeps_what_was_chosen(
    world: World,
) -> None:
    made, saved = await world.subscribe(kinds=["failures"])
    again = await world.register(made)
    assert (again["id"], again["kinds"]) == (saved["id"], ["failures"])
    path = f"{SUBSCRIPTIONS}/{saved['id']}"
    changed = await world.at.ask("PATCH", path, json={"kinds": ["questions", "drafts"]})
    assert changed.json()["kinds"] == ["drafts", "questions"]
    assert (await world.at.ask("PATCH", path, json={"kinds": ["all"]})).status_code == 422
    assert len(await world.listed()) == 1


async def test_a_person_has_only_so_many_subscriptions(world: World) -> None:
    for _ in range(MOST_SUBSCRIPTIONS):
        await world.subscribe()
    made = await world.browser()
    more = await world.at.ask("POST", SUBSCRIPTIONS, json=made.as_json())
    assert (more.status_code, more.json()["code"]) == (409, "too_many_subscriptions")


async def test_another_members_subscription_is_neither_listed_nor_changed(world: World) -> None:
    made, saved = await world.subscribe()
    application = world.api.application
    eve = await make_person(
        application.database,
        "eve@example.com",
        workspace_id=application.workspace_id,
        role=Role.OWNER,
    )
    async with browser(world.api, eve.id) as at:
        assert await world.listed(at) == []
        path = f"{SUBSCRIPTIONS}/{saved['id']}"
        for method, address, body in (
            ("DELETE", path, None),
            ("PATCH", path, {"kinds": []}),
            ("POST", f"{path}/test", None),
        ):
            answer = await at.ask(method, address, json=body)
            assert (answer.status_code, answer.json()["code"]) == (404, "no_subscription")
        # Who has learned the address, and not the keys, cannot take it over.
        stolen = replace(await world.browser(), endpoint=made.endpoint)
        accepted = await at.ask("POST", SUBSCRIPTIONS, json=stolen.as_json())
        assert (accepted.status_code, accepted.json()["code"]) == (409, "subscription_taken")
        assert [one["id"] for one in await world.listed()] == [saved["id"]]
        # The same browser, with another person signed in, is theirs from then on.
        await world.register(made, at)
        assert len(await world.listed(at)) == 1
    assert await world.listed() == []
    assert made.shown == []


# --- what is sent


async def test_a_draft_is_shown_once_without_its_text(world: World) -> None:
    made, _ = await world.subscribe()
    draft_id = await world.draft()
    await world.deliver()
    await world.deliver()
    (shown,) = made.shown
    assert shown == {
        "title": "A message waits for your approval",
        "body": "",
        "link": f"/inbox?item={draft_id}&workspace={world.api.application.workspace_id}",
        "tag": f"draft-{draft_id}",
    }
    # It is of no use once the draft has expired.
    assert 3_000 < made.ttls[0] <= 3_600


async def test_what_a_run_waits_for_is_shown_with_the_automation_and_nothing_else(
    world: World,
) -> None:
    made, _ = await world.subscribe()
    await world.waits("test.mail", {"mark": PRIVATE}, "Daily digest")
    await world.waits("approval", {"title": PRIVATE, "message": PRIVATE}, "Pay the bill")
    await world.deliver()
    draft, question = sorted(made.shown, key=lambda one: one["title"])
    assert (draft["title"], draft["body"]) == ("A message waits for your approval", "Daily digest")
    assert (question["title"], question["body"]) == (
        "A question waits for your answer",
        "Pay the bill",
    )
    asked = await world.api.application.database.fetchval("SELECT id FROM approvals")
    space = world.api.application.workspace_id
    assert question["link"] == f"/inbox?item={asked}&workspace={space}"
    assert PRIVATE not in json.dumps(made.shown)
    # The push service saw neither.
    assert not any(b"Daily digest" in one or b"inbox" in one for one in world.service.requests)


async def test_an_automation_that_a_program_made_asks_for_consent(world: World) -> None:
    made, _ = await world.subscribe(kinds=["questions"])
    plan = document(step("one", "test.mail", {"mark": PRIVATE}), name="Made by a program")
    saved = await world.api.program.post(f"{ROOT}/automations", json=plan)
    assert saved.status_code == 201, saved.text
    await world.deliver()
    await world.deliver()
    (shown,) = made.shown
    assert (shown["title"], shown["body"]) == (
        "An automation waits for your consent",
        "Made by a program",
    )
    space = world.api.application.workspace_id
    assert shown["link"] == f"/automations/{saved.json()['id']}?workspace={space}"


async def test_only_what_was_chosen_and_came_since_is_sent(world: World) -> None:
    await world.draft()
    made, saved = await world.subscribe(kinds=["questions"])
    await world.draft()
    await world.deliver()
    assert made.shown == []
    path = f"{SUBSCRIPTIONS}/{saved['id']}"
    await world.at.ask("PATCH", path, json={"kinds": ["drafts"]})
    await world.deliver()
    assert made.shown == []
    await world.draft()
    await world.deliver()
    assert len(made.shown) == 1


async def test_what_was_answered_meanwhile_is_not_sent(world: World) -> None:
    made, _ = await world.subscribe()
    draft_id = await world.draft()
    world.service.script = [http_answer(503, b"")]
    await world.deliver()
    answered = await world.at.ask("POST", f"/drafts/{draft_id}/discard", json={})
    assert answered.status_code == 200, answered.text
    await world.api.application.database.execute("UPDATE push_messages SET due_at = now()")
    await world.deliver()
    assert made.shown == []
    assert [one["state"] for one in await world.messages()] == ["given_up"]


async def test_failures_and_the_pause_are_shown(world: World) -> None:
    made, _ = await world.subscribe()
    application = world.api.application
    limits = replace(application.limits, failures_in_row=2)
    reader = EventLogReader(
        application.database, CONSUMER, FailureAlerts(limits, mail=False).handle
    )
    await reader.begin()
    config = {"failures": 99, "permanent": True, "note": PRIVATE}
    broken = document(
        step("one", "test.flaky", config),
        name="Nightly sync",
        triggers=[{"id": "hook", "type": "webhook"}],
    )
    saved = await world.bench.save(broken)
    async with application.database.transaction() as tx:
        await set_state(tx, application.workspace_id, saved.automation_id, "active")
    trigger = await application.database.fetchval("SELECT id FROM triggers")
    runs: list[UUID] = []

    async def fails(kind: str, trigger_id: UUID | None) -> None:
        request = RunRequest(application.workspace_id, saved.automation_id, kind, trigger_id)
        runs.append((await application.dispatcher.dispatch(request)).run_id)
        await world.bench.until(runs[-1])
        while await application.database.fetchval(_AHEAD, CONSUMER):
            await reader.once()
        await world.deliver()

    async with world.bench.worker():
        # A person who starts a run sees how it ends.
        await fails("manual", None)
        assert made.shown == []
        await fails("webhook", trigger)
        # Another failure within the same alert is not shown again; the pause is.
        await fails("webhook", trigger)
    first, second = made.shown
    assert (first["title"], first["body"]) == ("An automation failed", "Nightly sync")
    assert first["link"] == f"/runs/{runs[1]}?workspace={application.workspace_id}"
    assert second["title"] == "An automation was paused after failures"
    assert "never work" not in json.dumps(made.shown)
    assert PRIVATE not in json.dumps(made.shown)


# --- when it cannot be sent


@pytest.mark.parametrize("status", [404, 410])
async def test_a_browser_that_is_gone_is_removed(world: World, status: int) -> None:
    _, saved = await world.subscribe()
    stored, _ = await world.subscribe()
    await world.draft()
    world.service.script = [http_answer(status, b"")]
    await world.deliver()
    left = await world.listed()
    assert len(left) == 1
    assert len(stored.shown) + (left[0]["id"] == saved["id"]) == 1
    assert len(await world.messages()) == 1


async def test_a_test_of_a_browser_that_is_gone_says_so_and_removes_it(world: World) -> None:
    made, saved = await world.subscribe()
    world.service.forget(made)
    sent = await world.at.ask("POST", f"{SUBSCRIPTIONS}/{saved['id']}/test")
    assert (sent.status_code, sent.json()["code"]) == (410, "subscription_gone")
    assert await world.listed() == []


async def test_a_service_that_is_not_available_is_tried_again_later(world: World) -> None:
    made, _ = await world.subscribe()
    await world.draft()
    database = world.api.application.database
    world.service.script = [
        http_answer(429, b"", "Retry-After: 900"),
        http_answer(500, b""),
        http_answer(503, b""),
    ]
    pauses = []
    for _ in range(3):
        await world.deliver()
        (one,) = await world.messages()
        pauses.append(one["pause"].total_seconds())
        assert one["state"] == "waiting"
        (listed,) = await world.listed()
        assert listed["problem"] is not None
        await database.execute("UPDATE push_messages SET due_at = now()")
    # What the service asks for counts, and after that a backoff that doubles.
    assert 890 < pauses[0] <= 900
    assert 50 < pauses[1] <= 60
    assert 110 < pauses[2] <= 120
    assert made.shown == []
    await world.deliver()
    assert len(made.shown) == 1
    (listed,) = await world.listed()
    assert listed["problem"] is None


async def test_a_message_is_given_up_after_some_tries(world: World) -> None:
    made, _ = await world.subscribe()
    await world.draft()
    world.service.script = [http_answer(503, b"")] * TRIES
    for _ in range(TRIES):
        await world.deliver()
        await world.api.application.database.execute("UPDATE push_messages SET due_at = now()")
    await world.deliver()
    assert made.shown == []
    assert [one["state"] for one in await world.messages()] == ["given_up"]
    (listed,) = await world.listed()
    assert listed["problem"] == f"The push service {world.service.pair} answered 503."


async def test_a_key_that_the_service_refuses_is_not_tried_again(world: World) -> None:
    made, saved = await world.subscribe()
    made.server_key = "another"
    sent = await world.at.ask("POST", f"{SUBSCRIPTIONS}/{saved['id']}/test")
    assert (sent.status_code, sent.json()["code"]) == (502, "push_refused"), sent.text
    await world.draft()
    await world.deliver()
    assert [one["state"] for one in await world.messages()] == ["given_up"]
    (listed,) = await world.listed()
    assert "does not accept the key" in listed["problem"]


async def test_a_silent_service_keeps_no_other_waiting(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.outbound.web_push._SECONDS", 1.0)
    await world.subscribe()
    await world.subscribe()
    await world.draft()
    world.service.script = [None]
    # The silent one never answers: without a timeout of its own this does not end.
    async with asyncio.timeout(60):
        assert await world.delivery.once() == 2
    assert sorted(one["state"] for one in await world.messages()) == ["sent", "waiting"]


async def test_an_address_that_turns_private_is_not_called(world: World) -> None:
    """A name may lead elsewhere later than when it was subscribed."""
    await world.subscribe()
    await world.draft()
    async with open_own_application(world.bench, egress_allow=frozenset()) as other:
        assert await PushDelivery(other.application.database, other.application.push).once() == 1
    assert world.service.requests == []
    assert [one["state"] for one in await world.messages()] == ["given_up"]
    (listed,) = await world.listed()
    assert "not public" in listed["problem"]


async def test_a_redirect_is_not_followed(world: World) -> None:
    made, saved = await world.subscribe()
    world.service.script = [http_answer(307, b"", f"Location: {made.endpoint}")]
    sent = await world.at.ask("POST", f"{SUBSCRIPTIONS}/{saved['id']}/test")
    assert sent.status_code == 502, sent.text
    assert len(world.service.requests) == 1


# --- who gets nothing any more


async def test_who_signs_out_gets_nothing_more(world: World) -> None:
    here, _ = await world.subscribe()
    async with browser(world.api, FIRST_MEMBER) as other:
        there, _ = await world.subscribe(other)
        await world.draft()
        assert (await other.ask("DELETE", "/session")).status_code == 204
    await world.deliver()
    assert (len(here.shown), len(there.shown)) == (1, 0)
    assert len(await world.listed()) == 1


async def test_signing_out_elsewhere_and_a_new_password_end_it_there(world: World) -> None:
    here, _ = await world.subscribe()
    async with browser(world.api, FIRST_MEMBER) as one, browser(world.api, FIRST_MEMBER) as two:
        ended, _ = await world.subscribe(one)
        forgotten, _ = await world.subscribe(two)
        path = f"/sessions/{one.who['session_id']}"
        assert (await world.at.ask("DELETE", path)).status_code == 204
        assert len(await world.listed()) == 2
        changed = await world.at.ask("POST", "/me/password", json={"password": PASSWORD})
        assert changed.status_code == 204, changed.text
    await world.draft()
    await world.deliver()
    assert [len(one.shown) for one in (here, ended, forgotten)] == [1, 0, 0]


async def test_signing_in_again_in_the_same_browser_keeps_it(world: World) -> None:
    made, saved = await world.subscribe()
    before = world.at.who["session_id"]
    await world.at.ask("POST", "/me/password", json={"password": PASSWORD})
    await world.at.ask("PATCH", "/me", json={"email": "a@b.org", "current_password": PASSWORD})
    answer = await world.at.client.post(
        f"{ROOT}/session", json={"email": "a@b.org", "password": PASSWORD}
    )
    assert answer.status_code == 200, answer.text
    assert answer.json()["session_id"] != before
    world.at.who = answer.json()
    (one,) = await world.listed()
    assert (one["id"], one["current"]) == (saved["id"], True)
    assert made.shown == []


async def test_a_session_that_ran_out_still_gets_notifications(world: World) -> None:
    """Otherwise a phone would miss the failure that comes after some quiet days."""
    made, _ = await world.subscribe()
    database = world.api.application.database
    await database.execute("UPDATE sessions SET seen_at = now() - $1::interval", IDLE * 2)
    async with database.transaction() as tx:
        await delete_expired_sessions(tx)
    assert (await world.at.ask("GET", "/me/push")).status_code == 401
    await world.draft()
    await world.deliver()
    assert len(made.shown) == 1


async def test_a_removed_or_disabled_member_gets_nothing_more(world: World) -> None:
    application = world.api.application
    people = [
        await make_person(
            application.database,
            f"{name}@example.com",
            workspace_id=application.workspace_id,
            role=Role.EDITOR,
        )
        for name in ("removed", "disabled", "there")
    ]
    devices = []
    for one in people:
        async with browser(world.api, one.id) as at:
            devices.append((await world.subscribe(at))[0])
        await world.draft(one.id, Role.EDITOR)
    # They are queued, and not sent yet.
    world.service.script = [http_answer(503, b"")] * 3
    await world.deliver()
    gone = await world.at.ask("DELETE", f"/members/{people[0].id}")
    assert gone.status_code in (200, 204), gone.text
    await application.database.execute(
        "UPDATE users SET disabled_at = now() WHERE id = $1", people[1].id
    )
    await application.database.execute("UPDATE push_messages SET due_at = now()")
    await world.deliver()
    assert [len(one.shown) for one in devices] == [0, 0, 1]


async def test_another_members_drafts_are_not_shown(world: World) -> None:
    made, _ = await world.subscribe()
    application = world.api.application
    eve = await make_person(
        application.database,
        "eve@example.com",
        workspace_id=application.workspace_id,
        role=Role.EDITOR,
    )
    await world.draft(eve.id, Role.EDITOR)
    await world.deliver()
    assert made.shown == []
