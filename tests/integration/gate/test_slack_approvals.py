"""Drafts and questions are answered in Slack by the linked person, and by nobody else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

import httpx2
import pytest
import pytest_asyncio

from mainspring.connections.installed_integrations import install_id_of
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Problem
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.prompting.prompt_delivery import MemberChats, PromptDelivery
from mainspring.gate.prompting.slack_identities import link_account
from mainspring.registry import ApplicationRegistry
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, step
from tests.kit.configured_bench import open_own_application
from tests.kit.doubles.slack_app import SIGNING_SECRET, SlackApp, slack_app
from tests.kit.members import member

PATIENCE = 60.0


class World:
    """An installation whose owner has connected Slack, and the Slack app over there."""

    def __init__(self, bench: Bench, slack: SlackApp, api: Api) -> None:
        self.bench, self.slack, self.api = bench, slack, api
        application = bench.application
        assert application.account_connections is not None
        chats = MemberChats(
            application.account_connections, application.clock, "http://localhost:8321"
        )
        self.telling = PromptDelivery(application.database, chats, None, None)
        self.url = f"/api/v1/integrations/slack/interactions/{application.workspace_id}"
        self.owner = Actor(application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)

    async def call(self, name: str, /, *, actor: Actor | None = None, **value: Any) -> Any:
        return await self.bench.application.gate.direct(
            CapabilityCaller(actor or self.owner), name, value
        )

    async def connect(self) -> None:
        """The owner signs in to Slack and agrees to the app's bot."""
        await self.call(
            "set_oauth_client", provider="slack", client_id="1.2", client_secret="s3cret"
        )
        link = await self.call("begin_integration_sign_in", integration="slack")
        state = dict(parse_qsl(urlsplit(link["sign_in_url"]).query))["state"]
        words = self.bench.application.registry
        assert isinstance(words, ApplicationRegistry)
        await words.account_connection_service.finish_sign_in(
            self.owner, "slack", state=state, code="a-code", error=None
        )

    async def deliver(self, body: bytes, **signing: Any) -> httpx2.Response:
        return await self.slack.deliver(self.api.anonymous, self.url, body, **signing)

    async def link(self, user: str = "U0ADA", *, actor: Actor | None = None) -> str:
        """Links a Slack account; what its person reads there."""
        begun = await self.call("link_slack", actor=actor)
        text = begun["command"].removeprefix("/mainspring ")
        answer = await self.deliver(self.slack.command(text, user=user))
        assert answer.status_code == 200
        assert answer.json()["response_type"] == "ephemeral"
        return str(answer.json()["text"])

    async def draft(self, text: str) -> str:
        """A message that waits for the owner."""
        made = await self.call(
            "act_on_integration",
            install_id=str(install_id_of("slack")),
            action_name="slack_post",
            input={"channel": "C0GEN", "text": text},
        )
        return str(made["draft_id"])

    async def asked(self, text: str) -> str:
        """A draft of which the owner was shown a message in Slack."""
        draft = await self.draft(text)
        assert await self.telling.once() == 1
        return draft

    async def press(self, label: str, **who: Any) -> None:
        answer = await self.deliver(self.slack.press(label, **who))
        assert (answer.status_code, answer.content) == (200, b"")

    async def settled(self, is_so: Callable[[], bool]) -> None:
        """Waits for what Slack was sent after its request was acknowledged."""
        async with asyncio.timeout(PATIENCE):
            while not is_so():
                await asyncio.sleep(0.01)

    async def status(self, draft: str) -> str:
        row = await self.bench.application.database.fetchrow(
            "SELECT status FROM drafts WHERE id = $1", UUID(draft)
        )
        assert row is not None
        return str(row["status"])

    def posted(self) -> list[str]:
        """What was sent to the channel."""
        return [one["text"] for one in self.slack.messages if one["channel"] == "C0GEN"]


@pytest_asyncio.fixture
async def world(bench: Bench) -> AsyncIterator[World]:
    async with slack_app() as slack:
        places = {
            "slack.authorize_url": f"{slack.url}/authorize",
            "slack.token_url": f"{slack.url}/oauth.v2.access",
        }
        async with (
            open_own_application(
                bench,
                slack_url=slack.url,
                integration_urls=places,
                egress_allow=frozenset({slack.pair}),
            ) as here,
            served(here.application) as api,
        ):
            made = World(here, slack, api)
            await made.connect()
            await made.call(
                "publisher_secret_set", name="SLACK_SIGNING_SECRET", value=SIGNING_SECRET
            )
            yield made


async def test_a_linked_person_approves_a_draft_and_sees_what_came_of_it(world: World) -> None:
    assert "is linked" in await world.link()
    draft = await world.asked("Tom & Jerry <3 *bold* <!channel>")

    assert world.slack.latest["channel"] == "D0ADA"
    assert "Tom & Jerry <3 *bold* <!channel>" in world.slack.text
    assert [one["text"]["text"] for one in world.slack.buttons()] == ["Approve", "Decline"]
    assert world.slack.links() == [f"http://localhost:8321/inbox?draft={draft}"]
    ts = world.slack.latest["ts"]

    await world.press("Approve")
    await world.settled(lambda: not world.slack.buttons(world.slack.shown[ts]))

    assert await world.status(draft) == "confirmed"
    assert world.posted() == ["Tom & Jerry <3 *bold* <!channel>"]
    approved = await world.bench.application.database.fetchrow(
        "SELECT detail FROM audit_log WHERE action = 'draft.approved'"
    )
    assert approved is not None
    assert approved["detail"]["channel"] == "slack"
    shown = world.slack.shown[ts]
    assert "Tom & Jerry <3" in str(shown["blocks"][0]["text"]["text"]).replace(
        "&amp;", "&"
    ).replace("&lt;", "<")
    assert "Sent." in str(shown["blocks"][-1])


async def test_a_decline_discards_the_draft(world: World) -> None:
    await world.link()
    draft = await world.asked("Hello")
    await world.press("Decline")
    await world.settled(lambda: not world.slack.buttons())
    assert await world.status(draft) == "discarded"
    assert world.posted() == []
    assert "nothing was sent" in world.slack.text


async def test_another_account_or_team_decides_nothing(world: World) -> None:
    await world.link()
    draft = await world.asked("Hello")

    await world.press("Approve", user="U0EVE")
    await world.press("Approve", team="T0EVIL")
    await world.settled(lambda: len(world.slack.ephemeral) == 2)

    assert await world.status(draft) == "pending"
    assert world.posted() == []
    assert [one for one, _ in world.slack.ephemeral] == ["U0EVE", "U0ADA"]
    assert all("not linked" in text for _, text in world.slack.ephemeral)
    assert "Hello" not in str(world.slack.ephemeral)
    # The person themselves can still decide.
    assert len(world.slack.buttons()) == 2


async def test_a_linked_member_decides_nothing_by_the_prompt_of_another(world: World) -> None:
    other = (
        await member(world.bench.application.database, world.owner.workspace_id, Role.ADMIN)
    ).actor
    await world.call("share_integration_connection", integration="slack")
    await world.link()
    assert "is linked" in await world.link("U0BOB", actor=other)
    draft = await world.asked("Hello")
    await world.press("Approve", user="U0BOB")
    await world.settled(lambda: bool(world.slack.ephemeral))
    assert await world.status(draft) == "pending"


async def test_requests_that_slack_did_not_just_sign_are_refused(world: World) -> None:
    await world.link()
    draft = await world.asked("Hello")
    body, now = world.slack.press("Approve"), time.time()
    headers = world.slack.signed(body)

    refused = [
        await world.deliver(body, secret="another secret"),
        await world.deliver(body, at=now - 301),
        await world.deliver(body, at=now + 330),
        # The signature is over the exact bytes and the time that is shown.
        await world.api.anonymous.post(world.url, content=body + b"&x=1", headers=headers),
        await world.api.anonymous.post(
            world.url, content=body, headers={**headers, "X-Slack-Request-Timestamp": f"{now:.0f}0"}
        ),
        await world.api.anonymous.post(
            world.url, content=body, headers={"Content-Type": headers["Content-Type"]}
        ),
        # Nobody's workspace has no secret, and that is not distinguished.
        await world.slack.deliver(
            world.api.anonymous, world.url[:-36] + "01900000-0000-7000-8000-0000000000ff", body
        ),
        # A person who is signed in is not Slack.
        await world.api.client.post(
            world.url, content=body, headers={"Content-Type": headers["Content-Type"]}
        ),
    ]

    assert [one.status_code for one in refused] == [401] * len(refused)
    assert {one.json()["detail"] for one in refused} == {refused[0].json()["detail"]}
    assert await world.status(draft) == "pending"
    assert world.slack.ephemeral == []
    # The same request, as Slack sends it.
    assert (await world.deliver(body)).status_code == 200
    await world.settled(lambda: world.posted() == ["Hello"])


async def test_without_a_signing_secret_nothing_is_accepted(world: World) -> None:
    await world.link()
    await world.asked("Hello")
    await world.call("publisher_secret_delete", name="SLACK_SIGNING_SECRET")
    for secret in (SIGNING_SECRET, ""):
        answer = await world.deliver(world.slack.press("Approve"), secret=secret)
        assert answer.status_code == 401
    assert (await world.call("get_slack_link"))["signing_secret"] is False
    with pytest.raises(Problem) as refused:
        await world.call("link_slack")
    assert refused.value.code == "slack_signing_secret"


async def test_a_repeated_delivery_decides_once(world: World) -> None:
    await world.link()
    await world.asked("Hello")
    ts = world.slack.latest["ts"]
    body = world.slack.press("Approve")
    first = await world.deliver(body)
    # Sent again as it was, and signed again.
    again = [await world.deliver(body, at=time.time() - 2), await world.deliver(body)]
    await world.settled(lambda: not world.slack.buttons(world.slack.shown[ts]))

    assert [one.status_code for one in (first, *again)] == [200] * 3
    assert world.posted() == ["Hello"]
    assert sum(url.used for url in world.slack.urls.values()) == 1
    rows = await world.bench.application.database.fetch("SELECT FROM interaction_deliveries")
    assert len(rows) == 2
    await world.bench.application.database.execute(
        "UPDATE interaction_deliveries SET at = now() - interval '16 minutes'"
    )
    await world.deliver(world.slack.command("help"))
    rows = await world.bench.application.database.fetch("SELECT FROM interaction_deliveries")
    assert len(rows) == 1


async def test_a_draft_that_was_changed_since_is_not_approved(world: World) -> None:
    await world.link()
    draft = await world.asked("Pay 10.")
    await world.call("edit_action", draft_id=draft, edits={"text": "Pay 1000."})
    await world.press("Approve")
    await world.settled(lambda: not world.slack.buttons())
    assert await world.status(draft) == "pending"
    assert world.posted() == []
    assert "Pay 1000." not in world.slack.text


async def test_what_was_answered_elsewhere_is_not_sent_twice(world: World) -> None:
    await world.link()
    draft = await world.asked("Hello")
    ts = world.slack.latest["ts"]
    await world.call("confirm_action", draft_id=draft)
    await world.press("Approve", ts=ts)
    await world.settled(lambda: not world.slack.buttons(world.slack.shown[ts]))
    assert world.posted() == ["Hello"]


async def test_what_has_expired_is_not_approved(world: World) -> None:
    await world.link()
    draft = await world.asked("Hello")
    await world.bench.application.database.execute(
        "UPDATE drafts SET expires_at = now() - interval '1 second'"
    )
    await world.press("Approve")
    await world.settled(lambda: not world.slack.buttons())
    assert world.posted() == []
    assert await world.status(draft) != "confirmed"


async def test_a_viewer_decides_nothing_and_a_former_member_has_no_link(world: World) -> None:
    database, space = world.bench.application.database, world.owner.workspace_id
    await world.call("share_integration_connection", integration="slack")
    other = (await member(database, space, Role.EDITOR)).actor
    await world.link("U0BOB", actor=other)
    made = await world.call(
        "act_on_integration",
        actor=other,
        install_id=str(install_id_of("slack")),
        action_name="slack_post",
        input={"channel": "C0GEN", "text": "Hello"},
    )
    await world.telling.once()
    assert world.slack.latest["channel"] == "D0BOB"

    role = "UPDATE members SET role = $3 WHERE workspace_id = $1 AND user_id = $2"
    await database.execute(role, space, other.id, "viewer")
    await world.press("Approve", user="U0BOB")
    await world.settled(lambda: len(world.slack.ephemeral) == 1)
    assert "operator" in world.slack.ephemeral[0][1]
    # Once the role is enough again, the buttons still work.
    assert len(world.slack.buttons()) == 2

    # Somebody who is disabled is told so, and decides nothing by a link that is still there.
    disabled = "UPDATE users SET disabled_at = CASE WHEN $2 THEN now() END WHERE id = $1"
    await database.execute(role, space, other.id, "editor")
    await database.execute(disabled, other.id, True)
    await world.press("Approve", user="U0BOB")
    await world.settled(lambda: len(world.slack.ephemeral) == 2)
    assert await world.status(made["draft_id"]) == "pending"
    await database.execute(disabled, other.id, False)

    answer = await world.api.client.delete(f"/api/v1/members/{other.id}")
    assert answer.status_code in (200, 204), answer.text
    await world.press("Approve", user="U0BOB")
    await world.settled(lambda: len(world.slack.ephemeral) == 3)
    assert await world.status(made["draft_id"]) == "pending"
    assert await database.fetch("SELECT FROM slack_identities") == []
    # Somebody who comes back links their account anew.
    await database.execute(
        "INSERT INTO members (workspace_id, user_id, role) VALUES ($1, $2, 'owner')",
        space,
        other.id,
    )
    await world.press("Approve", user="U0BOB")
    await world.settled(lambda: len(world.slack.ephemeral) == 4)
    assert await world.status(made["draft_id"]) == "pending"


async def test_while_work_is_halted_the_buttons_wait(world: World) -> None:
    await world.link()
    plan = document(step("tell", "slack_post", {"channel": "C0GEN", "text": "Hello"}))
    run = await world.bench.run(plan)
    assert run["outcome"] == "drafts_waiting", run["error"]
    assert await world.telling.once() == 1
    await world.call("halt_work", scope="workspace", reason="An audit")
    await world.press("Approve")
    await world.settled(lambda: bool(world.slack.ephemeral))
    assert "An audit" in world.slack.ephemeral[0][1]
    assert (await world.status(run["output"]["draft_id"]), world.posted()) == ("pending", [])
    await world.call("release_work", scope="workspace")
    await world.press("Approve")
    await world.settled(lambda: world.posted() == ["Hello"])


@pytest.mark.parametrize(
    "text", ["x" * 3_000, "&" * 700, "😀" * 1_600, "All is well." + "\n." * 1_500 + "Pay mallory"]
)
async def test_a_text_that_is_not_shown_whole_has_only_the_link(world: World, text: str) -> None:
    await world.link()
    draft = await world.asked(text)
    assert world.slack.buttons() == []
    assert world.slack.links() == [f"http://localhost:8321/inbox?draft={draft}"]
    assert "answer it there" in world.slack.text


async def test_a_text_that_just_fits_is_shown_exactly(world: World) -> None:
    await world.link()
    text = "&<>" * 90 + "x" * 600
    await world.asked(text)
    assert text in world.slack.text
    assert len(world.slack.buttons()) == 2
    await world.press("Approve")
    await world.settled(lambda: world.posted() == [text])


async def _question(world: World, config: dict[str, Any]) -> Any:
    """A run that asks; its owner was shown the question in Slack."""
    asking = {"on_decline": "continue", **config}
    plan = document(step("ask", "approval", asking), name=config["title"])
    made = await world.bench.dispatch(plan)
    await world.bench.until(made.run_id, "waiting")
    assert await world.telling.once() == 1
    return made.run_id


async def test_a_question_is_answered_by_a_button_and_its_run_goes_on(world: World) -> None:
    await world.link()
    async with world.bench.worker():
        run = await _question(world, {"title": "Publish <now>?", "message": "Notes & more"})
        assert world.slack.text == "Publish <now>?\nNotes & more"
        await world.press("Approve")
        ended = await world.bench.until(run)
        assert ended["output"]["approved"] is True
        await world.settled(lambda: not world.slack.buttons())

        run = await _question(world, {"title": "Publish again?"})
        await world.press("Decline")
        assert (await world.bench.until(run))["output"]["approved"] is False


async def test_a_question_with_options_has_a_button_for_each(world: World) -> None:
    await world.link()
    day = {"type": "object", "required": ["day"], "properties": {"day": {"enum": ["Mon", "Tue"]}}}
    async with world.bench.worker():
        run = await _question(world, {"title": "Which day?", "form": day})
        labels = [one["text"]["text"] for one in world.slack.buttons()]
        assert labels == ["Mon", "Tue", "Decline"]
        await world.press("Tue")
        assert (await world.bench.until(run))["output"]["answer"] == {"day": "Tue"}
        await world.settled(lambda: "Tue" in world.slack.text)

        # What a button cannot show whole, or has to be written, is answered on the page.
        await _question(world, {"title": "Which?", "form": {"enum": ["&" * 40, "b"]}})
        assert (world.slack.buttons(), world.slack.text) == ([], "Which?")
        free = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}
        await _question(world, {"title": "Which date?", "form": free})
        assert world.slack.buttons() == []
        assert world.slack.links()[0].startswith("http://localhost:8321/inbox?item=")


async def test_a_code_links_one_account_once_and_in_time(world: World) -> None:
    database = world.bench.application.database
    begun = await world.call("link_slack")
    answer = await world.deliver(world.slack.command("link not-the-code", user="U0EVE"))
    assert "not valid" in answer.json()["text"]
    text = begun["command"].removeprefix("/mainspring ")
    assert "is linked" in (await world.deliver(world.slack.command(text))).json()["text"]
    # It is used up, and the link stays with the one who confirmed it.
    late = await world.deliver(world.slack.command(text, user="U0EVE"))
    assert "not valid" in late.json()["text"]
    shown = await world.call("get_slack_link")
    assert (shown["linked"], shown["team_id"], shown["user_id"]) == (True, "T0ACME", "U0ADA")
    assert shown["request_url"].endswith(world.url)

    begun = await world.call("link_slack")
    await database.execute("UPDATE slack_identities SET code_until = now() - interval '1 second'")
    text = begun["command"].removeprefix("/mainspring ")
    late = await world.deliver(world.slack.command(text, user="U0EVE"))
    assert "not valid" in late.json()["text"]

    # One account answers for one member.
    other = (await member(database, world.owner.workspace_id, Role.ADMIN)).actor
    await world.call("share_integration_connection", integration="slack")
    assert "another member" in await world.link("U0ADA", actor=other)
    assert not (await world.call("get_slack_link", actor=other))["linked"]
    help_text = (await world.deliver(world.slack.command(""))).json()["text"]
    assert "/mainspring link CODE" in help_text
    audit = await database.fetch(
        "SELECT actor_id, detail FROM audit_log WHERE action = $1", "slack.linked"
    )
    assert [(row["actor_id"], row["detail"]["user_id"]) for row in audit] == [
        (FIRST_MEMBER, "U0ADA")
    ]


async def test_two_members_who_link_one_account_at_once_get_one_link(world: World) -> None:
    database, space = world.bench.application.database, world.owner.workspace_id
    other = (await member(database, space, Role.ADMIN)).actor
    await world.call("share_integration_connection", integration="slack")
    first = (await world.call("link_slack"))["code"]
    second = (await world.call("link_slack", actor=other))["code"]

    async def confirm(code: str) -> str:
        async with database.transaction() as tx:
            return await link_account(tx, space, code, "T0ACME", "U0ADA")

    async with database.transaction() as tx:
        assert "is linked" in await link_account(tx, space, first, "T0ACME", "U0ADA")
        late = asyncio.create_task(confirm(second))
        async with asyncio.timeout(PATIENCE):
            while not await database.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                await asyncio.sleep(0.02)
    assert "another member" in await late


async def test_after_unlinking_nothing_is_shown_and_old_buttons_decide_nothing(
    world: World,
) -> None:
    waiting = await world.draft("Before the link")
    await world.link()
    # What waited before is not shown again there.
    assert await world.telling.once() == 0
    draft = await world.asked("Hello")
    assert (await world.call("unlink_slack"))["unlinked"] is True
    assert (await world.call("unlink_slack"))["unlinked"] is False
    await world.press("Approve")
    await world.settled(lambda: bool(world.slack.ephemeral))
    await world.draft("Later")
    assert await world.telling.once() == 0
    assert [await world.status(one) for one in (waiting, draft)] == ["pending"] * 2


async def test_an_answer_that_its_own_address_does_not_take_is_shown_by_the_bot(
    world: World,
) -> None:
    await world.link()
    await world.asked("Hello")
    ts, body = world.slack.latest["ts"], world.slack.press("Approve")
    for url in world.slack.urls.values():
        url.used = 5
    await world.deliver(body)
    await world.settled(lambda: not world.slack.buttons(world.slack.shown[ts]))
    assert world.posted() == ["Hello"]
    assert "Sent." in str(world.slack.shown[ts]["blocks"])


async def test_a_press_before_the_message_is_on_record_still_removes_its_buttons(
    world: World,
) -> None:
    await world.link()
    await world.asked("Hello")
    ts, body = world.slack.latest["ts"], world.slack.press("Approve")
    await world.bench.application.database.execute(
        "UPDATE prompts_sent SET state = 'waiting', place = place - 'channel' - 'ts'"
    )
    for url in world.slack.urls.values():
        url.used = 5
    await world.deliver(body)
    await world.settled(lambda: not world.slack.buttons(world.slack.shown[ts]))
    assert "Sent." in str(world.slack.shown[ts]["blocks"])


async def test_an_answer_goes_to_slack_alone(world: World) -> None:
    await world.link()
    draft = await world.asked("Hello")
    body = world.slack.press("Approve").replace(
        world.slack.pair.replace(":", "%3A").encode(), b"evil.example.com"
    )
    assert b"evil.example.com" in body
    assert (await world.deliver(body)).status_code == 200
    # It is decided; what came of it is shown by the bot instead.
    await world.settled(lambda: "Sent." in str(world.slack.shown))
    assert await world.status(draft) == "confirmed"


async def test_a_bot_without_the_scope_is_reported_and_not_tried_for_ever(world: World) -> None:
    await world.link()
    world.slack.scopes = {"users:read"}
    await world.draft("Hello")
    await world.telling.once()
    row = await world.bench.application.database.fetchrow("SELECT state, problem FROM prompts_sent")
    assert row is not None
    assert (row["state"], row["problem"]["code"]) == ("given_up", "slack_missing_scope")


async def test_the_signing_secret_is_sent_nowhere(world: World) -> None:
    with pytest.raises(Problem) as refused:
        await world.bench.application.vault.lend(
            world.bench.secret_scope, ["publisher.SLACK_SIGNING_SECRET"]
        )
    assert refused.value.code == "secret_not_sendable"


async def test_a_button_counts_also_where_the_answer_to_its_message_was_lost(world: World) -> None:
    await world.link()
    world.slack.loses_answers = True
    draft = await world.asked("Hello")
    world.slack.loses_answers = False
    await world.press("Approve")
    async with asyncio.timeout(PATIENCE):
        while await world.status(draft) != "confirmed":
            await asyncio.sleep(0.01)
    assert world.posted() == ["Hello"]


async def test_a_program_sets_no_signing_secret_and_links_no_account(world: World) -> None:
    for name, given in (
        ("publisher_secret_set", {"name": "SLACK_SIGNING_SECRET", "value": "known to it"}),
        ("link_slack", {}),
    ):
        answer = await world.api.program.post(f"/api/v1/capabilities/{name}", json=given)
        assert (answer.status_code, answer.json()["code"]) == (403, "person_needed"), answer.text
    # What only a token shows is not Slack's signature either.
    await world.link()
    draft = await world.asked("Hello")
    body = world.slack.press("Approve")
    headers = world.slack.signed(body, secret="known to it")
    answer = await world.api.program.post(world.url, content=body, headers=headers)
    assert answer.status_code == 401
    assert await world.status(draft) == "pending"
