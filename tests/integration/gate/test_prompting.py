"""What waits is brought to a person's own chat, and a button there is worth that person."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.connections.installed_integrations import install_id_of
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Problem
from mainspring.contracts.event import Event
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.prompting.button_presses import ButtonPressConsumer
from mainspring.gate.prompting.chat_linking import link_chat
from mainspring.gate.prompting.prompt_delivery import MemberChats, PromptDelivery
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.bench import Bench, document, step
from tests.kit.configured_bench import open_own_application
from tests.kit.members import member
from tests.kit.telegram import CHAT, TOKEN, TelegramDouble, telegram_double

ADA = int(CHAT)


class World:
    """A bench whose owner has a linked bot."""

    def __init__(self, bench: Bench, telegram: TelegramDouble) -> None:
        self.bench, self.telegram = bench, telegram
        application = bench.application
        assert application.account_connections is not None
        chats = MemberChats(
            application.account_connections, application.clock, "http://localhost:8321"
        )
        self.telling = PromptDelivery(application.database, chats, None, None)
        self.pressing = ButtonPressConsumer(application.database, application.gate, chats)

    async def call(self, name: str, **value: Any) -> Any:
        space = self.bench.application.workspace_id
        caller = CapabilityCaller(Actor(space, "member", FIRST_MEMBER, role=Role.OWNER))
        return await self.bench.application.gate.direct(caller, name, value)

    async def press(self, data: str, *, user: int = ADA) -> str | None:
        payload = {"data": data, "chat_id": user, "user_id": user, "message_id": 101}
        return await self.pressing.answer_press(self.bench.application.workspace_id, payload)

    async def link(self, **result: Any) -> bool:
        async with self.bench.application.database.transaction() as tx:
            return await link_chat(tx, self.bench.application.workspace_id, result)

    async def nudge(self, text: str) -> dict[str, Any]:
        """A draft that asks to be notified on Telegram."""
        draft = await self.call("telegram_push", text=text)
        async with self.bench.application.database.transaction() as tx:
            await tx.execute(
                "UPDATE drafts SET notify = '{inbox,telegram}' WHERE id = $1",
                UUID(draft["draft_id"]),
            )
        return dict(draft)

    def buttons(self) -> list[str]:
        """What the buttons of the latest message carry."""
        (row,) = self.telegram.messages[-1]["reply_markup"]["inline_keyboard"]
        return [one["callback_data"] for one in row]


@pytest_asyncio.fixture
async def world(bench: Bench) -> AsyncIterator[World]:
    async with (
        telegram_double() as telegram,
        open_own_application(
            bench, telegram_url=telegram.url, egress_allow=frozenset({telegram.pair})
        ) as own_bench,
    ):
        found = World(own_bench, telegram)
        await found.call("connect_integration", integration="telegram", fields={"token": TOKEN})
        yield found


async def test_a_code_links_the_chat_once_and_nobody_elses(world: World) -> None:
    link = await world.call("link_telegram")
    assert link["url"].startswith("https://t.me/adas_nudge_bot?start=")
    assert not link["linked"]

    assert not await world.link(code="x" * 24, chat_id=666, user_id=666)
    assert await world.link(code=link["code"], chat_id=ADA, user_id=ADA)
    # It is used up, and the chat stays whose it is.
    assert not await world.link(code=link["code"], chat_id=666, user_id=666)
    assert (await world.call("link_telegram"))["linked"]

    late = await world.call("link_telegram")
    async with world.bench.application.database.transaction() as tx:
        await tx.execute(
            "UPDATE integration_connections SET settings = jsonb_set(settings, '{link_until}',"
            " '\"2026-01-01T00:00:00+00:00\"')"
        )
    assert not await world.link(code=late["code"], chat_id=666, user_id=666)


async def test_a_button_sends_what_its_message_showed_for_the_linked_person_alone(
    world: World,
) -> None:
    link = await world.call("link_telegram")
    await world.link(code=link["code"], chat_id=ADA, user_id=ADA)
    draft = await world.nudge("The build is green.")

    assert await world.telling.once() == 1
    # Told once, however often anybody looks.
    assert await world.telling.once() == 0
    result = world.telegram.messages[-1]
    assert "The build is green." in result["text"]
    assert "http://localhost:8321/inbox" in result["text"]
    yes, _ = world.buttons()

    # An unknown user, a guess and a press without its secret are ignored.
    assert await world.press(yes, user=666) is None
    assert await world.press(f"y{'A' * 44}") is None
    assert await world.press(yes[:-22] + "A" * 22) is None
    assert len(world.telegram.messages) == 1

    assert await world.press(yes) == "Sent."
    assert world.telegram.messages[-1]["text"] == "The build is green."
    assert world.telegram.edits[-1]["text"] == "Sent."
    approved = await world.bench.application.database.fetchrow(
        "SELECT detail FROM audit_log WHERE action = 'draft.approved'"
    )
    assert approved is not None
    assert approved["detail"]["channel"] == "telegram"
    # Pressed again it says what came of it, and nothing is sent twice.
    sent = len(world.telegram.messages)
    assert await world.press(yes) == "Sent."
    assert len(world.telegram.messages) == sent
    row = await world.bench.application.database.fetchrow(
        "SELECT status, outcome, answered_by FROM drafts WHERE id = $1", UUID(draft["draft_id"])
    )
    assert row is not None
    assert tuple(row) == ("confirmed", "sent", FIRST_MEMBER)


async def test_a_press_before_the_message_is_on_record_still_removes_its_buttons(
    world: World,
) -> None:
    link = await world.call("link_telegram")
    await world.link(code=link["code"], chat_id=ADA, user_id=ADA)
    await world.nudge("The build is green.")
    assert await world.telling.once() == 1
    # As it is between the answer of Telegram and the record of it.
    await world.bench.application.database.execute(
        "UPDATE prompts_sent SET state = 'waiting', place = place - 'chat_id' - 'message_id'"
    )
    assert await world.press(world.buttons()[0]) == "Sent."
    edit = world.telegram.edits[-1]
    assert (edit["chat_id"], edit["message_id"], edit["text"]) == (ADA, 101, "Sent.")


async def test_an_old_button_does_not_send_what_was_changed_since(world: World) -> None:
    link = await world.call("link_telegram")
    await world.link(code=link["code"], chat_id=ADA, user_id=ADA)
    draft = await world.nudge("Pay 10.")
    await world.telling.once()
    yes, no = world.buttons()
    await world.call("edit_action", draft_id=draft["draft_id"], edits={"text": "Pay 1000."})

    output = await world.press(yes)

    assert output is not None
    assert not output.startswith("Sent")
    assert all(one["text"] != "Pay 1000." for one in world.telegram.messages)
    assert await world.press(no) == "Discarded; nothing was sent."


async def test_what_was_shown_with_an_account_leaves_over_that_one_alone(world: World) -> None:
    application = world.bench.application
    for name, value in (("telegram_bot_token", TOKEN), ("telegram_chat_id", CHAT)):
        await application.vault.set(world.bench.secret_scope, name, value)
    link = await world.call("link_telegram")
    await world.link(code=link["code"], chat_id=ADA, user_id=ADA)
    direct = await world.call("telegram_push", text="For my chat")
    acting = await world.call(
        "act_on_integration",
        install_id=str(install_id_of("telegram")),
        action_name="telegram_push",
        input={"text": "For my chat"},
    )
    drafts = [direct["draft_id"], acting["draft_id"]]
    shown = (await world.call("list_pending_actions"))["drafts"]
    accounts = {direct["account"], acting["account"], *(one["account"] for one in shown)}
    assert accounts == {"@adas_nudge_bot"}

    async def refused(draft: str) -> str:
        with pytest.raises(Problem) as problem:
            await world.call("confirm_action", draft_id=draft)
        return problem.value.code

    async def put(assignment: str) -> None:
        await application.database.execute(f"UPDATE integration_connections SET {assignment}")

    chat = "settings = jsonb_set(settings, '{{chat_id}}', '{}')"
    own = await application.database.fetchval("SELECT id FROM integration_connections")
    for there, back in (
        ("account = '@eves_bot'", "account = '@adas_nudge_bot'"),
        (chat.format(666), chat.format(ADA)),
        ("id = gen_random_uuid()", f"id = '{own}'"),
    ):
        await put(there)
        assert {await refused(one) for one in drafts} == {"draft_changed"}, there
        await put(back)
    # The bot that the owner's secrets name is another one than was shown.
    await put("state = 'sign_in'")
    assert {await refused(one) for one in drafts} == {"not_connected"}
    fallback = await world.call("telegram_push", text="By my own secrets")
    assert "account" not in fallback
    await put("state = 'ready'")
    assert await refused(fallback["draft_id"]) == "draft_changed"
    assert world.telegram.messages == []

    for one in drafts:
        assert (await world.call("confirm_action", draft_id=one))["outcome"] == "sent"
    assert [one["text"] for one in world.telegram.messages] == ["For my chat"] * 2


async def test_what_came_to_the_bot_is_read_from_its_owner_alone(world: World) -> None:
    link = await world.call("link_telegram")
    world.telegram.wrote(f"/start {link['code']}")
    world.telegram.wrote("Who are you?", user=666)
    await world.call("poll_integration", source="telegram")
    events = await world.bench.application.database.fetch(
        "SELECT type, payload FROM events WHERE type LIKE 'telegram.%' ORDER BY id"
    )
    assert events[0]["type"] == "telegram.started"
    assert "Who are you?" not in str([row["payload"] for row in events])
    await world.link(**events[0]["payload"])

    world.telegram.wrote("Buy milk")
    world.telegram.pressed("y" + "A" * 44)
    await world.call("poll_integration", source="telegram")
    await world.call("poll_integration", source="telegram")
    assert world.telegram.spinning == set()
    kinds = await world.bench.application.database.fetch(
        "SELECT type FROM events WHERE type LIKE 'telegram.%' ORDER BY id"
    )
    inbox = [row["type"] for row in kinds if row["type"] != "telegram.chat_message"]
    assert inbox[1:] == ["telegram.message_received", "telegram.button_pressed"]
    pages = await world.bench.application.database.fetch(
        "SELECT title FROM pages WHERE type = 'telegram_message'"
    )
    assert [row["title"] for row in pages] == ["Buy milk"]


async def test_a_button_is_offered_only_where_all_is_shown_and_waits_for_no_other(
    world: World,
) -> None:
    link = await world.call("link_telegram")
    await world.link(code=link["code"], chat_id=ADA, user_id=ADA)
    await world.nudge("x" * 4_000 + "Pay mallory")
    await world.telling.once()
    result = world.telegram.messages[-1]
    assert "answer it there" in result["text"]
    assert "reply_markup" not in result

    await world.nudge("All is well." + " \n" * 250 + "Pay mallory")
    await world.telling.once()
    assert "Pay mallory" in world.telegram.messages[-1]["text"]
    yes, _ = world.buttons()
    await world.nudge("Another")
    await world.telling.once()
    _, no = world.buttons()

    # The first is sent to somebody who does not answer; the second is heard meanwhile.
    world.telegram.script = [None]
    space, now = world.bench.application.workspace_id, datetime.now(UTC)
    presses = [
        Event(
            space,
            space,
            "telegram.button_pressed",
            "telegram",
            {"data": data, "chat_id": ADA, "user_id": ADA},
            now,
        )
        for data in (yes, no)
    ]
    async with world.bench.application.database.transaction() as tx:
        after = await world.pressing.handle(tx, presses)
    assert after is not None
    answering = asyncio.create_task(world.pressing.run(asyncio.Event()))
    after()
    query = "SELECT FROM drafts WHERE status = 'discarded'"
    async with asyncio.timeout(60):
        while not await world.bench.application.database.fetch(query):
            await asyncio.sleep(0.02)
    answering.cancel()
    await asyncio.gather(answering, return_exceptions=True)


async def test_whatever_keeps_a_prompt_from_its_person_is_counted_until_it_is_given_up(
    world: World,
) -> None:
    database = world.bench.application.database
    broken = PromptDelivery(database, cast("Any", object()), None, None)
    await world.nudge("Hello")

    assert await broken.once() == 1
    await database.execute("UPDATE prompts_sent SET tries = 5, due_at = now()")
    assert await broken.once() == 1

    row = await database.fetchrow("SELECT state, tries, problem IS NOT NULL FROM prompts_sent")
    assert row is not None
    assert tuple(row) == ("given_up", 6, True)


async def test_a_bot_that_is_shared_brings_nobody_elses_prompts_to_its_holders_chat(
    world: World,
) -> None:
    link = await world.call("link_telegram")
    await world.link(code=link["code"], chat_id=ADA, user_id=ADA)
    await world.call("share_integration_connection", integration="telegram")
    application = world.bench.application
    assert application.account_connections is not None
    chats = MemberChats(application.account_connections, application.clock, "http://localhost:8321")
    other = await member(application.database, application.workspace_id, Role.EDITOR)
    await chats.over("telegram", application.workspace_id, FIRST_MEMBER)
    with pytest.raises(Problem) as refused:
        await chats.over("telegram", application.workspace_id, other.actor.id)
    assert refused.value.code == "not_connected"


async def _question(world: World, **config: Any) -> UUID:
    """A run that asks on Telegram; its owner was shown the question there."""
    asking = {"notify": ["inbox", "telegram"], "on_decline": "continue", **config}
    made = await world.bench.dispatch(document(step("ask", "approval", asking)))
    await world.bench.until(made.run_id, "waiting")
    assert await world.telling.once() == 1
    return made.run_id


async def test_a_question_of_a_plan_is_answered_by_a_button(world: World) -> None:
    link = await world.call("link_telegram")
    await world.link(code=link["code"], chat_id=ADA, user_id=ADA)
    async with world.bench.worker():
        run = await _question(world, title="Publish?", message="The notes of today.")
        text = world.telegram.messages[-1]["text"]
        assert text.startswith("Publish?\nThe notes of today.\n\nhttp://localhost:8321/inbox?item=")
        yes, _ = world.buttons()
        assert await world.press(yes, user=666) is None
        assert await world.press(yes) == "Approved: the run continues."
        assert (await world.bench.until(run))["output"]["approved"] is True
        # Pressed again it only says that it was answered.
        assert "already answered" in str(await world.press(yes))

        run = await _question(world, title="Publish again?")
        _, no = world.buttons()
        await world.press(no)
        assert (await world.bench.until(run))["output"]["approved"] is False


async def test_the_options_of_a_question_are_buttons(world: World) -> None:
    link = await world.call("link_telegram")
    await world.link(code=link["code"], chat_id=ADA, user_id=ADA)
    form = {"enum": ["Monday", "Tuesday", "Wednesday"]}
    async with world.bench.worker():
        run = await _question(world, title="Which day?", form=form)
        (row,) = world.telegram.messages[-1]["reply_markup"]["inline_keyboard"]
        assert [one["text"] for one in row] == [*form["enum"], "Decline"]
        assert all(len(one["callback_data"]) <= 64 for one in row)
        # No option of this question has that number.
        data = row[1]["callback_data"]
        assert "does not offer that answer" in str(await world.press(f"7{data[1:]}"))
        assert await world.press(data) == "Tuesday: the run continues."
        assert (await world.bench.until(run))["output"]["answer"] == "Tuesday"


async def test_buttons_stay_while_what_keeps_them_from_deciding_may_pass(world: World) -> None:
    link = await world.call("link_telegram")
    await world.link(code=link["code"], chat_id=ADA, user_id=ADA)
    async with world.bench.worker():
        run = await _question(world, title="Publish?")
        yes, _ = world.buttons()
        role = "UPDATE members SET role = $2 WHERE user_id = $1"
        await world.bench.application.database.execute(role, FIRST_MEMBER, "viewer")
        output = await world.press(yes)
        assert output is not None
        assert "operator" in output
        assert world.telegram.edits == []
        assert world.telegram.messages[-1]["text"].startswith(output)
        assert (await world.bench.read(run))["status"] == "waiting"
        await world.bench.application.database.execute(role, FIRST_MEMBER, "owner")
        await world.press(yes)
        assert (await world.bench.until(run))["output"]["approved"] is True
        assert world.telegram.edits != []
