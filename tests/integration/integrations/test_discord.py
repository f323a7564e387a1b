"""Discord against a double on loopback: both ways of paging, nonces, mentions and refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mainspring.connections.call_context import GateContext
from mainspring.contracts.errors import Invalid, NotFound, PermissionDenied, Problem, UpstreamError
from mainspring.contracts.integration import Integration, Item, UnreadableItem
from mainspring.integrations.discord import integration
from mainspring.integrations.discord.messages import build_id_at, get_message_time
from tests.kit.doubles.discord import TOKEN, DiscordDouble, answer, discord_double, pause
from tests.kit.handler_context import visiting
from tests.kit.scripted_server import http_answer

NOW = datetime(2026, 8, 10, 12, 0, tzinfo=UTC)
ONE, TWO, CLOSED = "1100000000000000001", "1100000000000000002", "1100000000000000003"
World = tuple[DiscordDouble, Integration, GateContext]


class _Noon:
    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


def _id(number: int) -> str:
    return str(int(build_id_at(NOW - timedelta(days=1))) + number)


def _message(number: int, **more: Any) -> dict[str, Any]:
    author = {"id": "1", "username": "ada", "global_name": "Ada"}
    made = {"id": _id(number), "type": 0, "content": f"word {number}", "author": author}
    return made | more


@asynccontextmanager
async def _world() -> AsyncIterator[World]:
    async with discord_double() as discord:
        discord.channels = {ONE: [], TWO: [], CLOSED: []}
        discord.closed = {CLOSED}
        built = integration({"discord": discord.url})
        async with visiting(
            discord.pair, integration="discord", secrets={"bot_token": TOKEN}, clock=_Noon()
        ) as ctx:
            yield discord, built, ctx


async def _all(world: World, arguments: dict[str, Any]) -> list[Item | UnreadableItem]:
    (source,) = world[1].sources
    found: list[Item | UnreadableItem] = []
    cursor, more = None, True
    while more:
        portion = await source.read(world[2], arguments, cursor)
        found, cursor, more = [*found, *portion.items], portion.cursor, portion.more
    return found


async def _poll(world: World, settings: dict[str, Any], cursor: Any) -> tuple[list[Any], Any]:
    (poll,) = world[1].polls
    found: list[Any] = []
    more = True
    while more:
        portion = await poll.read(world[2], settings, cursor)
        found, cursor, more = [*found, *portion.items], portion.cursor, portion.more
    return found, cursor


async def test_a_channel_is_read_to_its_end_both_ways() -> None:
    async with _world() as world:
        discord = world[0]
        discord.channels[ONE] = [_message(n) for n in range(1, 121)]
        discord.channels[ONE][99] |= {
            "attachments": [{"filename": "a.png"}, {}],
            "embeds": [{"title": "A page", "description": "and more"}],
            "message_reference": {"message_id": _id(7)},
        }
        discord.channels[ONE][98]["type"] = 7  # somebody joined
        newest = await _all(world, {"channel_id": ONE, "limit": 250})
        ahead = await _all(world, {"channel_id": ONE, "after": _id(10), "limit": 250})
        few = await _all(world, {"channel_id": ONE, "limit": 3})

        numbers = [n for n in range(120, 0, -1) if n != 99]
        assert [one.source_ref for one in newest] == [f"discord:{ONE}:{_id(n)}" for n in numbers]
        assert [one.source_ref for one in ahead] == [
            f"discord:{ONE}:{_id(n)}" for n in reversed(numbers) if n > 10
        ]
        assert [one.source_ref for one in few] == [one.source_ref for one in newest[:3]]
        rich = newest[20]
        assert isinstance(rich, Item)
        assert rich.body == "word 100\n\nA page\n\nand more\n\n[file: a.png]"
        assert rich.frontmatter["answers"] == f"discord:{ONE}:{_id(7)}"
        assert (rich.type, rich.event) == ("discord_message", None), "it is no news any more"
        just_now = {**_message(0), "id": build_id_at(NOW - timedelta(minutes=30))}
        discord.channels[ONE].append(just_now)
        (fresh,) = await _all(world, {"channel_id": ONE, "limit": 1})
        assert isinstance(fresh, Item)
        assert (fresh.event, fresh.payload["author"]) == ("discord.message_posted", "Ada")
        assert get_message_time(_id(0)) == NOW - timedelta(days=1)
        assert await world[1].account(world[2]) == "spring"


async def test_a_poll_goes_on_from_the_last_id_and_passes_a_closed_channel() -> None:
    async with _world() as world:
        discord = world[0]
        old = {**_message(0), "id": build_id_at(NOW - timedelta(days=30))}
        discord.channels[ONE] = [old, *(_message(n) for n in range(1, 61))]
        discord.channels[TWO] = [_message(5)]
        settings = {"channels": f"{CLOSED}, {ONE} {TWO}"}
        first, cursor = await _poll(world, settings, None)
        assert isinstance(first[0], UnreadableItem)
        assert first[0].problem.code == "discord_50001"
        assert [one.source_ref for one in first[1:]] == [
            *(f"discord:{ONE}:{_id(n)}" for n in range(1, 61)),
            f"discord:{TWO}:{_id(5)}",
        ]
        discord.closed = set()
        again, cursor = await _poll(world, settings, cursor)
        assert again == []
        assert not any(one.event for one in first[1:]), "what a first look finds was there before"
        # One of the future moves no mark: what is said after it was read is read too.
        never, later = "99999999999999999999", build_id_at(NOW + timedelta(minutes=1))
        discord.channels[ONE].append({**_message(0), "id": never})
        await _poll(world, settings, cursor)
        discord.channels[ONE].insert(-1, {**_message(0), "id": later})
        third, cursor = await _poll(world, settings, cursor)
        assert [one.source_ref for one in third] == [
            f"discord:{ONE}:{later}",
            f"discord:{ONE}:{never}",
        ]
        assert {one.event for one in third} == {"discord.message_posted"}
        assert cursor["marks"][ONE] == later
        assert (await _poll(world, {}, None))[0] == []


async def test_half_broken_messages_and_a_bot_that_is_shown_no_text_are_reported() -> None:
    async with _world() as world:
        discord, built, ctx = world
        (source,) = built.sources
        discord.script = [answer(200, ["?", {"id": 7}, _message(1), {"id": _id(2)}])]
        portion = await source.read(ctx, {"channel_id": ONE}, None)
        assert [type(one) for one in portion.items] == [UnreadableItem, UnreadableItem, Item, Item]
        discord.channels[ONE] = [_message(n, content="") for n in (1, 2)]
        silent = await source.read(ctx, {"channel_id": ONE}, None)
        assert silent.note is not None
        assert "Message Content" in silent.note


async def test_a_message_is_posted_once_and_calls_nobody() -> None:
    async with _world() as world:
        discord, built, ctx = world
        (post,) = built.capabilities
        given = {"channel_id": ONE, "content": "@everyone look", "reply_to": _id(1)}
        first = await post.handler(ctx, given)
        assert first == await post.handler(ctx, given), "the same key posts nothing new"
        (sent,) = discord.messages
        assert sent["allowed_mentions"] == {"parse": [], "replied_user": False}
        assert sent["message_reference"]["message_id"] == _id(1)
        assert len(sent["nonce"]) <= 25
        assert post.write is not None
        assert "an answer" in post.write.preview(given)

        discord.read_only = {TWO}
        with pytest.raises(PermissionDenied) as refused:
            await post.handler(ctx, {"channel_id": TWO, "content": "x"})
        assert (refused.value.code, refused.value.unsent) == ("discord_50013", True)
        with pytest.raises(NotFound) as unknown:
            await post.handler(ctx, {"channel_id": "1100000000000000009", "content": "x"})
        assert unknown.value.code == "discord_10003"
        discord.script = [pause(0.35)]
        with pytest.raises(UpstreamError) as busy:
            await post.handler(ctx, {"channel_id": ONE, "content": "x"})
        assert (busy.value.retry_after, busy.value.unsent) == (0.35, True)


@pytest.mark.parametrize(
    ("content", "retryable", "pausing"),
    [
        (http_answer(429, b"", "X-RateLimit-Reset-After: 2.5"), True, 2.5),
        (http_answer(502, b"<html>"), True, None),
        (http_answer(200, b"<html>"), False, None),
        (answer(200, {"messages": []}), False, None),
        (http_answer(302, b"", "Location: https://elsewhere.example/"), False, None),
        (http_answer(403, b"error code: 1010"), False, None),
        (answer(200, ["x" * 500_000]), False, None),
    ],
    ids=["429", "502", "html", "object", "redirect", "403", "huge"],
)
async def test_what_is_not_an_answer_is_a_clear_problem(
    content: bytes, retryable: bool, pausing: float | None
) -> None:
    async with _world() as world:
        world[0].script = [content]
        with pytest.raises(Problem) as failed:
            await _all(world, {"channel_id": ONE})
        assert (failed.value.retryable, failed.value.retry_after) == (retryable, pausing)
        assert len(world[0].requests) == 1


def test_a_request_in_words_names_its_channel() -> None:
    (source,) = integration({}).sources
    assert source.from_request(f"what was said in {ONE}?", NOW) == {"channel_id": ONE}
    with pytest.raises(Invalid) as refused:
        source.from_request("what was said in #general?", NOW)
    assert refused.value.findings[0].pointer == "/request"
