"""Slack against a workspace on loopback: channels, threads, names, cursors and refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from mainspring.connections.call_context import GateContext
from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Invalid, NotFound, Problem, ReconnectRequired, UpstreamError
from mainspring.contracts.integration import Integration, Item, ItemBatch, UnreadableItem
from mainspring.integrations.slack import integration
from tests.kit.doubles.slack import TOKEN, SlackWorkspace, refusal, said, slack_workspace
from tests.kit.handler_context import visiting
from tests.kit.scripted_server import http_answer

NOW = datetime(2026, 8, 10, 12, 0, tzinfo=UTC)
BASE = int(NOW.timestamp()) - 3_600
World = tuple[SlackWorkspace, Integration, GateContext]


class _Noon:
    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


def _ts(number: int) -> str:
    return f"{BASE + number}.000100"


def _message(number: int, text: str = "", **more: Any) -> dict[str, Any]:
    said_here = {"type": "message", "user": "U0ADA", "text": text or f"word {number}"}
    return said_here | {"ts": _ts(number)} | more


@asynccontextmanager
async def _world(token: str = TOKEN) -> AsyncIterator[World]:
    async with slack_workspace() as slack:
        slack.channels = {"C0GEN": "general", "C0OPS": "ops"}
        slack.people = {"U0ADA": "Ada", "U0BOB": "Bob"}
        built = integration({"slack": slack.url})
        async with visiting(
            slack.pair,
            integration="slack",
            secrets={"token": token},
            settings={"channels": "C0GEN, #ops"},
            clock=_Noon(),
        ) as ctx:
            yield slack, built, ctx


async def _all(world: World, arguments: dict[str, Any]) -> tuple[list[Item | UnreadableItem], int]:
    """Everything that a source brings, and in how many portions."""
    (source,) = world[1].sources
    found: list[Item | UnreadableItem] = []
    cursor, portions = None, 0
    while True:
        portion = await source.read(world[2], arguments, cursor)
        found += portion.items
        portions += 1
        if not portion.more:
            return found, portions
        cursor = portion.cursor


async def _poll(world: World, cursor: Any) -> tuple[list[Item | UnreadableItem], Any]:
    (poll,) = world[1].polls
    found: list[Item | UnreadableItem] = []
    more = True
    while more:
        account = world[2].account
        assert account is not None
        portion: ItemBatch = await poll.read(world[2], account.settings, cursor)
        found, cursor, more = [*found, *portion.items], portion.cursor, portion.more
    return found, cursor


def _refs(found: list[Item | UnreadableItem]) -> list[str]:
    return [one.source_ref for one in found]


async def test_a_channel_is_read_to_its_end_with_threads_names_and_files() -> None:
    async with _world() as world:
        slack = world[0]
        slack.page = 2
        slack.history["C0GEN"] = [
            _message(
                1,
                "Hello <@U0BOB> &amp; <https://x.example|all>",
                reply_count=3,
                thread_ts=_ts(1),
                latest_reply=_ts(9),
            ),
            _message(2, subtype="channel_join"),
            _message(3, "<!here> see <#C0OPS|ops>", files=[{"name": "a.pdf"}, {"id": "F1"}]),
            "not a message",
            _message(5, "from nobody known", user="U0GONE"),
            _message(6, "sent to the channel too", thread_ts=_ts(1)),
        ]
        slack.threads["C0GEN", _ts(1)] = [
            _message(n, f"answer {n}", user="U0BOB") for n in (7, 8, 9)
        ]
        found, portions = await _all(world, {"channel": "#general"})

        assert portions == 3
        unreadable = "slack:C0GEN:unreadable"
        assert sorted(_refs(found)) == sorted(
            [f"slack:C0GEN:{_ts(n)}" for n in (1, 3, 5)] + [unreadable]
        )
        by_ref = {one.source_ref: one for one in found}
        assert isinstance(by_ref[unreadable], UnreadableItem)
        thread = by_ref[f"slack:C0GEN:{_ts(1)}"]
        assert isinstance(thread, Item)
        assert thread.title == "Hello @Bob & all (https://x.example)"
        assert thread.body.count("Bob (2026-08-10 11:00 UTC): answer") == 3
        assert (thread.type, thread.event) == ("slack_message", "slack.message_posted")
        assert (thread.frontmatter["author"], thread.frontmatter["replies"]) == ("Ada", 3)
        filed = by_ref[f"slack:C0GEN:{_ts(3)}"]
        assert isinstance(filed, Item)
        assert filed.body.endswith("@here see #ops\n[file: a.pdf]")
        gone = by_ref[f"slack:C0GEN:{_ts(5)}"]
        assert isinstance(gone, Item)
        assert gone.frontmatter["author"] == "U0GONE"
        # A name is asked for once in a portion, however often it is there.
        asked = [one["user"] for one in slack.said_to("users.info")]
        assert asked.count("U0BOB") == 1

        within, _ = await _all(world, {"channel": "C0GEN", "limit": 1})
        assert len(within) == 1
        named, _ = await _all(world, {"channel": "C0GEN", "query": "ANSWER 8"})
        assert _refs([one for one in named if isinstance(one, Item)]) == [f"slack:C0GEN:{_ts(1)}"]
        since = datetime.fromtimestamp(BASE + 4, UTC).isoformat()
        late, _ = await _all(world, {"channel": "C0GEN", "since": since})
        assert f"slack:C0GEN:{_ts(3)}" not in _refs(late)
        with pytest.raises(NotFound, match="no channel #nowhere"):
            await _all(world, {"channel": "#nowhere"})
        assert await world[1].account(world[2]) == "mainspring @ Acme"
        assert TOKEN.encode() in slack.requests[0]


async def test_a_poll_goes_on_where_it_ended_and_sees_answers_to_what_it_knows() -> None:
    async with _world() as world:
        slack = world[0]
        slack.page = 2
        slack.history = {"C0GEN": [_message(n) for n in (1, 2, 3)], "C0OPS": [_message(4)]}
        slack.history["C0GEN"].insert(0, {**_message(0), "ts": f"{BASE - 30 * 86_400}.000100"})
        first, cursor = await _poll(world, None)
        again, cursor = await _poll(world, cursor)

        assert sorted(_refs(first)) == [
            *(f"slack:C0GEN:{_ts(n)}" for n in (1, 2, 3)),
            f"slack:C0OPS:{_ts(4)}",
        ]
        assert again == []
        # The name of a channel is looked up once and remembered with the place.
        assert len(slack.said_to("conversations.list")) == 1

        slack.history["C0GEN"].append(_message(20))
        slack.history["C0OPS"][0] |= {
            "reply_count": 1,
            "thread_ts": _ts(4),
            "latest_reply": _ts(30),
        }
        slack.threads["C0OPS", _ts(4)] = [_message(30, "late answer", user="U0BOB")]
        third, cursor = await _poll(world, cursor)
        assert _refs(third) == [f"slack:C0GEN:{_ts(20)}", f"slack:C0OPS:{_ts(4)}"]
        # What a first look finds was there before, and an answer is no new message.
        result = [getattr(one, "event", None) for one in (*first, *third)]
        assert result == [None] * 4 + ["slack.message_posted", None]
        # One of the future moves no mark: what is said until then is not lost.
        before = dict(cursor["marks"])
        slack.history["C0GEN"].append({**_message(0), "ts": "999999999999.000100"})
        odd, cursor = await _poll(world, cursor)
        assert (_refs(odd), cursor["marks"]) == (["slack:C0GEN:999999999999.000100"], before)
        slack.history["C0GEN"].pop()
        assert isinstance(third[1], Item)
        assert "late answer" in third[1].body
        assert (await _poll(world, cursor))[0] == []


async def test_a_poll_outlives_a_forgotten_page_a_pause_and_a_channel_that_is_gone() -> None:
    async with _world() as world:
        slack, built, ctx = world
        slack.page = 2
        slack.history["C0GEN"] = [_message(n) for n in (1, 2, 3)]
        (poll,) = built.polls
        settings = {"channels": ["C0GONE", "C0GEN"]}
        one = await poll.read(ctx, settings, None)
        (gone,) = one.items
        assert isinstance(gone, UnreadableItem)
        assert (gone.source_ref, gone.problem.code) == ("slack:C0GONE", "slack_channel_not_found")
        two = await poll.read(ctx, settings, one.cursor)
        assert (len(two.items), two.more) == (2, True)
        # Slack asks for a pause: the place that is kept stays as it was, and reads the same again.
        slack.script = [refusal("ratelimited", "Retry-After: 7")]
        with pytest.raises(UpstreamError) as busy:
            await poll.read(ctx, settings, two.cursor)
        assert (busy.value.retry_after, busy.value.unsent, busy.value.retryable) == (7, True, True)
        slack.forgotten = True
        rest = await poll.read(ctx, settings, two.cursor)
        found = [*two.items, *rest.items]
        cursor = rest.cursor
        while rest.more:
            rest = await poll.read(ctx, settings, cursor)
            found, cursor = [*found, *rest.items], rest.cursor
        assert {one.source_ref for one in found} == {f"slack:C0GEN:{_ts(n)}" for n in (1, 2, 3)}
        nobody = await poll.read(ctx, {}, None)
        assert (nobody.items, nobody.more) == ([], False)
        assert nobody.note is not None


def _thread(slack: SlackWorkspace, number: int, answers: int) -> dict[str, Any]:
    """A message with a thread under it."""
    ts = _ts(number)
    slack.threads["C0GEN", ts] = [
        _message(number, f"answer {n}", ts=f"{BASE + number}.{200 + n:06}") for n in range(answers)
    ]
    latest = slack.threads["C0GEN", ts][-1]["ts"]
    return _message(number, reply_count=answers, thread_ts=ts, latest_reply=latest)


async def test_a_long_thread_is_read_whole_however_short_its_pages_are() -> None:
    async with _world() as world:
        slack = world[0]
        slack.history["C0GEN"] = [_thread(slack, 1, 100)]
        slack.page = 11
        (one,), _ = await _all(world, {"channel": "C0GEN"})

        assert isinstance(one, Item)
        assert one.frontmatter["replies"] == 100
        assert one.body.count("answer ") == 100


async def test_threads_are_read_one_after_another_where_slack_lets_one_a_minute() -> None:
    async with _world() as world:
        slack, built, ctx = world
        slack.throttled = True
        slack.history["C0GEN"] = [
            _thread(slack, 1, 2),
            _message(2),
            _thread(slack, 3, 2),
            _message(4),
            _thread(slack, 5, 2),
            *(_message(n) for n in range(6, 40)),
        ]
        (poll,) = built.polls
        found: dict[str, Item] = {}
        cursor: Any = None
        looks = 0
        more = True
        while more:
            looks += 1
            assert looks < 12
            slack.next_minute()
            portion = await poll.read(ctx, {"channels": "C0GEN"}, cursor)
            found |= {one.source_ref: one for one in portion.items if isinstance(one, Item)}
            assert portion.items, "every look goes on"
            cursor = portion.cursor
            more = portion.more or portion.note is not None
            if portion.note is not None:
                assert "pause" in portion.note
                assert portion.more is False

        assert set(found) == {f"slack:C0GEN:{_ts(n)}" for n in range(1, 40)}
        replies = [found[f"slack:C0GEN:{_ts(n)}"].frontmatter["replies"] for n in (1, 3, 5)]
        assert replies == [2, 2, 2]
        assert cursor["marks"]["C0GEN"] == _ts(39)


async def test_a_look_that_could_read_nothing_keeps_the_pause() -> None:
    async with _world() as world:
        slack, built, ctx = world
        slack.throttled = True
        slack.history["C0GEN"] = [_thread(slack, 1, 2)]
        slack.used.add("conversations.replies")
        (poll,) = built.polls
        with pytest.raises(UpstreamError) as busy:
            await poll.read(ctx, {"channels": "C0GEN"}, None)
        assert (busy.value.retryable, busy.value.retry_after) == (True, 60)


async def test_a_thread_longer_than_one_request_brings_keeps_nothing_up() -> None:
    async with _world() as world:
        slack, built, ctx = world
        slack.throttled = True
        slack.history["C0GEN"] = [_thread(slack, 1, 40), _message(2)]
        (poll,) = built.polls
        portion = await poll.read(ctx, {"channels": "C0GEN"}, None)

        first, second = portion.items
        assert isinstance(first, Item)
        assert isinstance(second, Item)
        assert first.frontmatter["replies"] == 14
        assert "first answers" in str(portion.note)


async def test_on_demand_the_messages_come_without_the_threads_that_slack_holds_back() -> None:
    async with _world() as world:
        slack, built, ctx = world
        slack.throttled = True
        slack.history["C0GEN"] = [_thread(slack, 1, 2), _message(2), _thread(slack, 3, 2)]
        (source,) = built.sources
        portion = await source.read(ctx, {"channel": "C0GEN"}, None)

        assert _refs(list(portion.items)) == [f"slack:C0GEN:{_ts(n)}" for n in (3, 2, 1)]
        third, _, first = portion.items
        assert isinstance(first, Item)
        assert isinstance(third, Item)
        assert (first.keeps_body, third.keeps_body) == (False, True)
        assert "pause" in str(portion.note)


def _post(built: Integration) -> Capability:
    (post,) = built.capabilities
    return post


async def test_a_message_is_posted_over_the_connection_and_refusals_ask_to_connect_again() -> None:
    async with _world() as world:
        slack, built, ctx = world
        post = _post(built)
        given = {"channel": "C0GEN", "text": "Hi", "thread_ts": _ts(1)}
        assert await post.handler(ctx, given) == {"channel": "C0GEN", "ts": "1700000099.000100"}
        assert slack.messages == [given]
        for word in ("invalid_auth", "token_revoked", "account_inactive", "missing_scope"):
            slack.script = [refusal(word)]
            with pytest.raises(ReconnectRequired) as lost:
                await post.handler(ctx, given)
            assert (lost.value.code, lost.value.unsent) == (f"slack_{word}", True)
        # Nobody is connected, and the owner keeps no token.
        with pytest.raises(NotFound) as nobody:
            await post.handler(replace(ctx, account=None), given)
        assert nobody.value.code in {"slack_not_connected", "secret_missing"}
        assert len(slack.messages) == 1

    async with _world("xoxb-revoked") as world:
        with pytest.raises(ReconnectRequired):
            await world[1].account(world[2])
        with pytest.raises(ReconnectRequired):
            await _poll(world, None)


@pytest.mark.parametrize(
    ("answer", "code", "retryable"),
    [
        (http_answer(429, b"", "Retry-After: 3"), "slack_ratelimited", True),
        (http_answer(503, b"<html>"), "slack_status", True),
        (http_answer(200, b"<html>"), "slack_answer", False),
        (said({"ok": True, "messages": "none"}), "slack_answer", False),
        (said({"ok": True}), "slack_answer", False),
        (http_answer(302, b"", "Location: https://elsewhere.example/"), "slack_status", False),
        (
            http_answer(200, b'{"ok":true,"messages":["' + b"x" * 500_000 + b'"]}'),
            "too_large",
            False,
        ),
    ],
    ids=["429", "503", "html", "odd", "empty", "redirect", "huge"],
)
async def test_what_is_not_an_answer_is_a_clear_problem(
    answer: bytes, code: str, retryable: bool
) -> None:
    async with _world() as world:
        world[0].script = [answer]
        with pytest.raises(Problem) as failed:
            await _all(world, {"channel": "C0GEN"})
        assert code in failed.value.code
        assert failed.value.retryable is retryable
        assert len(world[0].requests) == 1


def test_a_request_in_words_names_its_channel() -> None:
    (source,) = integration({}).sources
    asked = source.from_request('messages in #general since 2026-08-01 about "the invoice"', NOW)
    assert asked == {
        "channel": "#general",
        "since": "2026-08-01T00:00:00+00:00",
        "query": "the invoice",
    }
    assert source.from_request("C0123456 last 2 days", NOW)["since"] == "2026-08-08T12:00:00+00:00"
    assert source.from_request("#a yesterday", NOW)["since"] == "2026-08-09T00:00:00+00:00"
    with pytest.raises(Invalid) as refused:
        source.from_request("everything that matters", NOW)
    assert refused.value.findings[0].pointer == "/request"
