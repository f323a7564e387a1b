"""Reading what came to a Telegram bot, over real HTTP: buttons, and who else reads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.integration import Item, ItemBatch
from mainspring.integrations.telegram import integration
from tests.kit.handler_context import visiting
from tests.kit.telegram import CHAT, TOKEN, TelegramDouble, refusal, telegram_double

SETTINGS = {"chat_id": int(CHAT), "user_id": int(CHAT)}


@dataclass(frozen=True, slots=True)
class TelegramConnection:
    """The double, and a poll over it."""

    double: TelegramDouble
    ctx: CallContext

    async def poll(self, cursor: Any = None) -> ItemBatch:
        [poll] = integration({"telegram": self.double.url}).polls
        return await poll.read(self.ctx, SETTINGS, cursor)


@pytest.fixture
async def visit() -> AsyncIterator[TelegramConnection]:
    async with (
        telegram_double() as double,
        visiting(double.pair, integration="telegram", secrets={"token": TOKEN}) as ctx,
    ):
        yield TelegramConnection(double, ctx)


async def test_every_callback_query_is_answered(visit: TelegramConnection) -> None:
    visit.double.pressed("y" + "A" * 44)
    visit.double.pressed("y" + "B" * 44, user=666)
    visit.double.came(callback_query={"id": "inline", "from": {"id": 5}, "inline_message_id": "x"})
    visit.double.spinning.add("inline")

    portion = await visit.poll()

    assert visit.double.spinning == set()
    kinds = [one.event for one in portion.items if isinstance(one, Item)]
    assert kinds == ["telegram.button_pressed"] * 2


async def test_a_button_that_telegram_does_not_know_any_more_holds_nothing_up(
    visit: TelegramConnection,
) -> None:
    visit.double.pressed("y" + "A" * 44)
    visit.double.spinning.clear()
    visit.double.wrote("Buy milk")

    portion = await visit.poll()

    assert [one.event for one in portion.items if isinstance(one, Item)] == [
        "telegram.button_pressed",
        "telegram.message_received",
        "telegram.chat_message",
    ]
    assert portion.cursor == {"offset": 502}


async def test_a_webhook_keeps_the_updates_away_until_it_is_deleted(
    visit: TelegramConnection,
) -> None:
    visit.double.webhook = "https://elsewhere.example/hook"
    with pytest.raises(UpstreamError, match="webhook") as refused:
        await visit.poll()

    problem = refused.value
    assert (problem.code, problem.retryable, problem.unsent) == ("telegram_webhook", True, True)
    assert "deleteWebhook" in str(problem.suggestion)
    visit.double.webhook = ""
    visit.double.wrote("Buy milk")
    # The page of the message, and the message as a chat.
    assert len((await visit.poll()).items) == 2


async def test_another_program_that_reads_the_same_bot_is_named(visit: TelegramConnection) -> None:
    visit.double.polled_elsewhere = True
    with pytest.raises(UpstreamError, match="Another program") as refused:
        await visit.poll()

    problem = refused.value
    assert (problem.code, problem.retryable, problem.unsent) == ("telegram_conflict", True, True)
    assert problem.suggestion


async def test_a_conflict_in_other_words_is_tried_again_too(visit: TelegramConnection) -> None:
    visit.double.script.append(refusal(409, "Conflict: something new"))
    with pytest.raises(UpstreamError) as refused:
        await visit.poll()

    assert (refused.value.code, refused.value.retryable) == ("telegram_conflict", True)
