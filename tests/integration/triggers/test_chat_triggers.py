"""Messages to a Telegram bot start runs or an agent, and are answered once in the same chat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.app import build_chat_replies
from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.prompting.chat_linking import link_chat
from mainspring.store.events import EventTable
from mainspring.triggers.chat_intake import (
    FORGOTTEN,
    MOST_CONVERSATIONS,
    NOT_LINKED,
    TOO_MANY,
    WELCOME,
    build_dedup_key,
)
from mainspring.triggers.chat_replies import NO_MODEL_TEXT, ChatReplies
from mainspring.triggers.event_consumers import list_event_consumers
from mainspring.workspace.automations import FIRST_MEMBER, set_state
from tests.kit.bench import Bench, document, step
from tests.kit.events import match_all
from tests.kit.model_connections import Providing, providing
from tests.kit.model_server import Answer, Call, ModelServer, model_server
from tests.kit.telegram import CHAT, TOKEN, TelegramDouble, pause, telegram_double

PATIENCE = 60.0
ADA = int(CHAT)
STRANGER = 666
GROUP = -1001234567890
ECHO = step("say", "transform_data", {"output": "You said: {{ trigger.text }}"})


class Killed(BaseException):
    """The process is gone."""


class World:
    """An installation whose owner has a linked bot, and two models."""

    def __init__(
        self, bench: Providing, telegram: TelegramDouble, first: ModelServer, second: ModelServer
    ) -> None:
        self.bench, self.telegram, self.first, self.second = bench, telegram, first, second
        application = bench.application
        self.owner = CapabilityCaller(
            Actor(application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)
        )
        assert application.account_connections is not None
        self.replies = build_chat_replies(application, application.account_connections)

    async def call(self, name: str, /, **value: Any) -> Any:
        return await self.bench.application.gate.direct(self.owner, name, value)

    async def link(self) -> None:
        found = await self.call("link_telegram")
        async with self.bench.application.database.transaction() as tx:
            assert await link_chat(
                tx,
                self.bench.application.workspace_id,
                {"code": found["code"], "chat_id": ADA, "user_id": ADA},
            )

    async def connect_models(self) -> None:
        for name, server in (("first", self.first), ("second", self.second)):
            await self.bench.call(
                "connect_model",
                name=name,
                kind="compatible",
                base_url=server.openai_url,
                models=[f"{name}-model"],
            )
            await self.bench.call(
                "admin_set_model_price",
                self.bench.operator,
                model=f"{name}/{name}-model",
                input_usd_per_million=1,
                output_usd_per_million=2,
            )

    async def listen(self, config: Mapping[str, Any], *plan: Any, name: str = "listener") -> UUID:
        """An active automation with one chat trigger."""
        trigger = {"id": "chat", "type": "chat_message", "config": dict(config)}
        saved = await self.bench.save(document(*(plan or (ECHO,)), name=name, triggers=[trigger]))
        await self.set_state(saved.automation_id, "active")
        return UUID(str(saved.automation_id))

    async def set_state(self, automation_id: UUID, state: Any) -> None:
        async with self.bench.application.database.transaction() as tx:
            await set_state(tx, self.bench.application.workspace_id, automation_id, state)

    async def receive(self) -> None:
        """What was written reaches the triggers."""
        await self.call("poll_integration", source="telegram")
        await match_all(self.bench.application)

    async def answer(self) -> None:
        """Everything that can be answered is."""
        while await self.replies.once():
            pass

    async def exchange(self, text: str, **who: Any) -> list[str]:
        """Somebody writes; the texts that are there after it was answered."""
        self.telegram.wrote(text, **who)
        await self.receive()
        await self.answer()
        return self.texts

    async def finish_runs(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while await self.bench.application.database.fetchrow(
                "SELECT 1 FROM runs WHERE finished_at IS NULL"
            ):
                await asyncio.sleep(0.02)

    async def states(self) -> list[str]:
        rows = await self.bench.application.database.fetch(
            "SELECT state FROM chat_answers ORDER BY id"
        )
        return [row["state"] for row in rows]

    async def runs(self) -> list[dict[str, Any]]:
        rows = await self.bench.application.database.fetch("SELECT * FROM runs ORDER BY id")
        return [dict(row) for row in rows]

    @property
    def texts(self) -> list[str]:
        return [one["text"] for one in self.telegram.messages]

    def failing_replies(self, moment: str) -> ChatReplies:
        """Replies whose process is killed at a moment."""

        def hook(at: str) -> None:
            if at == moment:
                raise Killed

        application = self.bench.application
        assert application.account_connections is not None
        return ChatReplies(
            application.database,
            application.gate,
            application.account_connections,
            application.run_waiter,
            application.clock,
            "http://localhost:8321",
            lease=timedelta(0),
            hook=hook,
        )


@asynccontextmanager
async def _world(bench: Bench) -> AsyncIterator[World]:
    async with (
        telegram_double() as telegram,
        model_server([]) as first,
        model_server([]) as second,
        providing(
            bench,
            [telegram.pair, first.pair, second.pair],
            telegram_url=telegram.url,
        ) as own,
    ):
        world = World(own, telegram, first, second)
        await world.call("connect_integration", integration="telegram", fields={"token": TOKEN})
        yield world
        await own.application.run_waiter.aclose()


@pytest_asyncio.fixture
async def world(bench: Bench) -> AsyncIterator[World]:
    async with _world(bench) as found:
        await found.link()
        yield found


async def test_a_command_starts_one_run_that_answers_as_a_reply(world: World) -> None:
    automation = await world.listen({"via": "telegram", "match": {"command": "/standup"}})
    world.telegram.wrote("/standup shipped the parser")
    async with world.bench.worker():
        await world.receive()
        await world.finish_runs()
    await world.answer()

    (run,) = await world.runs()
    assert (run["automation_id"], run["trigger_type"]) == (automation, "chat_message")
    payload = run["payload"]
    assert (payload["command"], payload["command_text"]) == ("standup", "shipped the parser")
    assert payload["sender"]["member_id"] == str(FIRST_MEMBER)
    (message,) = world.telegram.messages
    assert message["text"] == "You said: /standup shipped the parser"
    assert message["chat_id"] == ADA
    assert message["reply_parameters"]["message_id"] == int(payload["message_id"])
    assert await world.states() == ["sent"]


async def test_an_update_that_is_delivered_twice_starts_one_run(world: World) -> None:
    await world.listen({"via": "telegram"})
    world.telegram.wrote("hello")
    (update,) = world.telegram.updates.values()
    await world.receive()
    # After a week without updates, Telegram numbers them anew.
    world.telegram.updates = {700: {**update, "update_id": 700}}
    await world.receive()
    (run,) = await world.runs()
    assert await world.states() == ["waiting"]
    # Both events show the run that the message started.
    application = world.bench.application
    rows = await application.database.fetch(
        "SELECT id FROM events WHERE type = 'telegram.chat_message'"
    )
    assert len(rows) == 2
    for row in rows:
        async with application.database.acquire() as connection:
            event = await EventTable(application.limits).one(
                connection, application.workspace_id, row["id"]
            )
            found = await list_event_consumers(
                connection, application.workspace_id, event.id, build_dedup_key(event)
            )
        assert [one["run_id"] for one in found] == [run["id"]]


async def test_a_crash_between_sending_and_recording_never_sends_twice(world: World) -> None:
    await world.listen({"via": "telegram"})
    world.telegram.wrote("hello")
    async with world.bench.worker():
        await world.receive()
        await world.finish_runs()
    with pytest.raises(Killed):
        await world.failing_replies("sent").once()
    assert len(world.texts) == 1
    async with world.bench.application.database.transaction() as tx:
        await tx.execute("UPDATE chat_answers SET leased_until = now() - interval '1 second'")
    await world.answer()

    assert len(world.texts) == 1
    assert await world.states() == ["unknown"]
    alerts = await world.bench.application.database.fetch("SELECT title FROM notifications")
    assert [row["title"] for row in alerts] == ["A chat answer may not have arrived"]


async def test_a_crash_before_sending_is_made_up_for(world: World) -> None:
    await world.connect_models()
    world.first.script.append(Answer("Two automations failed."))
    world.telegram.wrote("What failed?")
    await world.receive()
    with pytest.raises(Killed):
        await world.failing_replies("composed").once()
    assert world.texts == []
    await world.answer()
    assert world.texts == ["Two automations failed."]
    # It was composed once.
    assert len(world.first.seen) == 1


async def test_an_answer_that_telegram_lost_is_not_sent_again(world: World) -> None:
    await world.listen({"via": "telegram"})
    world.telegram.wrote("hello")
    async with world.bench.worker():
        await world.receive()
        await world.finish_runs()
    world.telegram.script = [b""]
    await world.answer()
    await world.answer()
    assert await world.states() == ["unknown"]


async def test_a_refusal_that_sent_nothing_is_tried_again(world: World) -> None:
    await world.listen({"via": "telegram"})
    world.telegram.wrote("hello")
    async with world.bench.worker():
        await world.receive()
        await world.finish_runs()
    world.telegram.script = [pause(0)]
    await world.answer()
    assert world.texts == ["You said: hello"]
    assert await world.states() == ["sent"]


async def test_a_long_answer_is_split_within_the_limit(world: World) -> None:
    text = " ".join(f"word{number}😀" for number in range(900))
    await world.listen(
        {"via": "telegram"}, step("say", "transform_data", {"output": text}), name="long"
    )
    world.telegram.wrote("go")
    async with world.bench.worker():
        await world.receive()
        await world.finish_runs()
    await world.answer()
    assert len(world.texts) > 1
    assert " ".join(world.texts) == text


async def test_only_a_named_group_starts_a_run_and_the_answer_stays_in_its_topic(
    world: World,
) -> None:
    await world.listen({"via": "telegram"}, name="private")
    await world.listen({"via": "telegram", "channel": str(GROUP)}, name="group")
    world.telegram.wrote_in_group("hello", group=GROUP, topic=7)
    world.telegram.wrote_in_group("not linked", group=GROUP, user=STRANGER)
    async with world.bench.worker():
        await world.receive()
        await world.finish_runs()
    await world.answer()
    (message,) = world.telegram.messages
    assert (message["chat_id"], message["message_thread_id"]) == (GROUP, 7)
    assert message["text"] == "You said: hello"


async def test_anyone_in_a_channel_may_write_where_the_definition_says_so(world: World) -> None:
    await world.listen({"via": "telegram", "channel": str(GROUP), "who": "anyone_in_channel"})
    world.telegram.wrote_in_group("hello", group=GROUP, user=STRANGER)
    async with world.bench.worker():
        await world.receive()
        await world.finish_runs()
    await world.answer()
    (run,) = await world.runs()
    assert run["payload"]["sender"] == {
        "id": str(STRANGER),
        "name": "Ada",
        "linked": False,
        "member_id": None,
    }
    assert world.texts == ["You said: hello"]


async def test_a_respond_step_answers_and_a_trigger_without_answer_stays_silent(
    world: World,
) -> None:
    await world.listen(
        {"via": "telegram", "match": {"prefix": "a"}, "respond": "by_step"},
        step("tell", "respond", {"body": "From the step."}),
        name="by step",
    )
    await world.listen(
        {"via": "telegram", "match": {"prefix": "b"}, "respond": "none"}, name="silent"
    )
    world.telegram.wrote("a")
    world.telegram.wrote("b")
    async with world.bench.worker():
        await world.receive()
        await world.finish_runs()
    await world.answer()
    assert world.texts == ["From the step."]
    assert len(await world.runs()) == 2


async def test_a_run_that_fails_says_so_without_its_details(world: World) -> None:
    output = {"output": "{{ trigger.text.nothing.there | length }}"}
    await world.listen({"via": "telegram"}, step("pick", "transform_data", output), name="Fails")
    world.telegram.wrote("ab")
    async with world.bench.worker():
        await world.receive()
        await world.finish_runs()
    await world.answer()
    (run,) = await world.runs()
    assert run["status"] == "failed"
    (text,) = world.texts
    assert text.startswith("Fails did not finish: failed. Members can read why: ")
    assert text.endswith(f"/runs/{run['id']}")


async def test_a_paused_automation_says_that_it_is_paused(world: World) -> None:
    automation = await world.listen(
        {"via": "telegram", "match": {"command": "standup"}}, name="Standup"
    )
    await world.set_state(automation, "paused")
    assert await world.exchange("/standup done") == [
        "The automation Standup is paused. Resume it, and write again."
    ]
    assert await world.runs() == []


async def test_a_text_is_answered_by_an_agent_that_searches(world: World) -> None:
    await world.connect_models()
    await world.call("create_page", title="Holiday rules", type="note", body="Thirty days.")
    world.first.script += [
        Answer(calls=(Call("search", {"q": "Holiday"}),)),
        Answer("Thirty days."),
        Answer("As I said: thirty."),
    ]
    assert await world.exchange("How many holidays do we have?") == ["Thirty days."]
    assert "Holiday rules" in str(world.first.seen[1].body)
    assert world.telegram.typing

    await world.exchange("Say it again")
    asked = str(world.first.seen[2].body)
    assert "How many holidays" in asked
    assert "Thirty days." in asked
    offered = {one["function"]["name"] for one in world.first.seen[0].body["tools"]}
    assert offered >= {"search", "get_page", "list_automations"}
    assert not offered & {"create_page", "update_page", "run_automation_once", "telegram_push"}


async def test_forgetting_deletes_the_memory_of_a_chat(world: World) -> None:
    await world.connect_models()
    world.first.script += [Answer("Noted."), Answer("Nothing.")]
    await world.exchange("My number is 4711")
    assert (await world.exchange("/forget"))[-1] == FORGOTTEN
    left = await world.bench.application.database.fetch(
        "SELECT 1 FROM chat_messages WHERE text IS NOT NULL"
    )
    assert left == []
    await world.exchange("What is my number?")
    assert "4711" not in str(world.first.seen[1].body)


async def test_what_is_remembered_is_bounded_and_expires(world: World) -> None:
    await world.connect_models()
    world.first.script += [Answer(f"a{number}") for number in range(12)]
    for number in range(12):
        await world.exchange(f"q{number}")
    kept = await world.bench.application.database.fetch(
        "SELECT text FROM chat_messages WHERE text IS NOT NULL"
    )
    assert len(kept) == 20
    async with world.bench.application.database.transaction() as tx:
        await tx.execute("UPDATE chat_messages SET at = now() - interval '8 days'")
        await tx.execute("UPDATE chat_answers SET created_at = now() - interval '8 days'")
    application = world.bench.application
    assert application.account_connections is not None
    await build_chat_replies(application, application.account_connections).once()
    for table in ("chat_messages", "chat_answers"):
        assert await application.database.fetch(f"SELECT 1 FROM {table}") == []


async def test_a_second_model_answers_when_the_first_fails(world: World) -> None:
    await world.connect_models()
    world.first.script.append(Answer(status=503))
    world.second.script.append(Answer("From the second."))
    assert await world.exchange("Hello?") == ["From the second."]


async def test_without_a_model_the_person_is_told_what_to_do(world: World) -> None:
    assert await world.exchange("Hello?") == [NO_MODEL_TEXT]


async def test_a_spent_budget_is_explained_and_no_model_is_asked(world: World) -> None:
    await world.connect_models()
    async with world.bench.application.database.transaction() as tx:
        await tx.execute("UPDATE workspaces SET cost_cap_daily_usd = 0")
    (text,) = await world.exchange("Hello?")
    assert text.startswith("I could not answer: ")
    assert "workspace" in text.lower()
    assert world.first.seen == []
    assert world.second.seen == []


async def test_questions_of_one_member_are_limited(world: World) -> None:
    async with world.bench.application.database.transaction() as tx:
        await tx.execute(
            "INSERT INTO chat_answers (workspace_id, id, connection_id, via, chat_id, member_id,"
            " kind, state) SELECT workspace_id, gen_random_uuid(), id, 'telegram', $1, owner_id,"
            " 'conversation', 'sent' FROM integration_connections, generate_series(1, $2)",
            CHAT,
            MOST_CONVERSATIONS,
        )
    assert await world.exchange("One more?") == [TOO_MANY]
    # It is not repeated for each message.
    assert await world.exchange("And another?") == [TOO_MANY]


async def test_start_explains_what_the_bot_answers(world: World) -> None:
    assert await world.exchange("/start") == [WELCOME]


async def test_strangers_get_one_note_and_reach_nothing(bench: Bench) -> None:
    async with _world(bench) as world:
        await world.link()
        await world.listen({"via": "telegram"})
        assert await world.exchange("hello", user=STRANGER) == [NOT_LINKED]
        assert await world.exchange("hello again", user=STRANGER) == [NOT_LINKED]
        assert await world.runs() == []
        stored = await world.bench.application.database.fetch(
            "SELECT 1 FROM events WHERE payload::text LIKE '%hello%'"
        )
        assert stored == []
