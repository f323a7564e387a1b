"""Linear over real HTTP: what is read, what is written, and what its refusals become."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import (
    Invalid,
    PermissionDenied,
    Problem,
    ReconnectRequired,
    UpstreamError,
)
from mainspring.contracts.integration import Integration, Item, ItemBatch, UnreadableItem
from mainspring.contracts.limits import Limits
from mainspring.integrations.linear import integration
from tests.kit.doubles.linear import (
    TEAM,
    TOKEN,
    LinearDouble,
    answer,
    linear_double,
    refusal,
    typed,
)
from tests.kit.handler_context import visiting
from tests.kit.scripted_server import http_answer

LIMITS = Limits(http_response_bytes=400_000)
ISSUE = {"team": "eng", "title": "The login fails"}


@dataclass(frozen=True, slots=True)
class LinearConnection:
    """Linear's double, what is built over it, and a context to speak through."""

    double: LinearDouble
    built: Integration
    ctx: CallContext

    async def create(self, **arguments: Any) -> Any:
        return await self.built.capabilities[0].handler(self.ctx, {**ISSUE, **arguments})

    async def search(self, cursor: Any = None, **value: Any) -> ItemBatch:
        return await self.built.sources[0].read(self.ctx, value, cursor)

    async def poll(self, cursor: Any = None) -> ItemBatch:
        return await self.built.polls[0].read(self.ctx, {}, cursor)

    def at(self, **ago: float) -> str:
        return written(self.ctx.clock.now() - timedelta(**ago))


def written(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def items(portion: ItemBatch) -> list[Item]:
    found = [one for one in portion.items if isinstance(one, Item)]
    assert len(found) == len(portion.items)
    return found


@pytest.fixture
async def visit() -> AsyncIterator[LinearConnection]:
    async with linear_double() as double:
        built = integration({"linear": double.url})
        async with visiting(
            double.pair, integration="linear", secrets={"token": TOKEN}, limits=LIMITS
        ) as ctx:
            yield LinearConnection(double, built, ctx)


async def test_an_issue_is_made_once_however_often_it_is_tried(visit: LinearConnection) -> None:
    visit.double.users = [
        {"id": "u-1", "email": "mona@octo.example", "displayName": "mona", "name": "Mona"},
        {"id": "u-2", "email": "b@octo.example", "displayName": "two", "name": "Bo"},
        {"id": "u-3", "email": "c@octo.example", "displayName": "two", "name": "Bo"},
    ]
    visit.double.labels = [
        {"id": "l-1", "name": "Bug", "team": None},
        {"id": "l-2", "name": "bug", "team": {"id": TEAM}},
        {"id": "l-3", "name": "Door", "team": {"id": "another"}},
    ]
    made = await visit.create(
        description="Every evening",
        priority="high",
        assignee="mona@octo.example",
        labels=["BUG"],
        due_date="2026-03-01",
    )
    sent = visit.double.messages[-1]["input"]
    assert made == {
        "id": sent["id"],
        "identifier": "ENG-1",
        "url": "https://linear.app/octo/issue/ENG-1",
    }
    assert sent == {
        "id": made["id"],
        "teamId": TEAM,
        "title": ISSUE["title"],
        "description": "Every evening",
        "priority": 2,
        "assigneeId": "u-1",
        "labelIds": ["l-2"],
        "dueDate": "2026-03-01",
    }
    assert await visit.create() == made
    assert len(visit.double.issues) == 1

    for wrong, pointer in (
        ({"team": "nobody"}, "/team"),
        ({"assignee": "nobody"}, "/assignee"),
        ({"assignee": "two"}, "/assignee"),
        ({"labels": ["bug", "Door"]}, "/labels/1"),
    ):
        with pytest.raises(Invalid) as unknown:
            await visit.create(**wrong)
        assert [finding.pointer for finding in unknown.value.findings] == [pointer]
        assert unknown.value.unsent is True


async def test_a_try_whose_answer_was_lost_finds_its_issue(visit: LinearConnection) -> None:
    with pytest.raises(Invalid, match="Team") as wrong:
        await visit.create(team="00000000-0000-4000-8000-000000000000")
    assert wrong.value.unsent is True
    teams = answer({"data": {"teams": {"nodes": [{"id": TEAM}]}}})
    visit.double.script = [teams, answer({"message": "gone"}, status=502)]
    with pytest.raises(UpstreamError) as lost:
        await visit.create()
    assert (lost.value.retryable, lost.value.unsent) == (True, None)
    made = await visit.create()
    assert await visit.create() == made
    assert len(visit.double.issues) == 1


async def test_a_search_becomes_pages_to_the_end_of_what_is_wanted(visit: LinearConnection) -> None:
    for number in range(1, 61):
        visit.double.issue(number, f"2026-01-01T00:00:{number - 1:02}.000Z", title=f"Door {number}")
    visit.double.issues[58]["title"] = None
    found: list[Item | UnreadableItem] = []
    cursor, more = None, True
    while more:
        portion = await visit.search(cursor, query="door", limit=40)
        found += portion.items
        cursor, more = portion.cursor, portion.more
    assert len(found) == 40
    first = found[0]
    assert isinstance(first, Item)
    assert (first.type, first.title) == ("linear_issue", "ENG-60 Door 60")
    assert first.source_ref == "linear:issue:00000000-0000-4000-8000-000000000060"
    assert first.frontmatter["labels"] == ["Bug"]
    assert (first.frontmatter["priority"], first.event) == ("high", None)
    latest = (await visit.search(limit=2)).items
    assert isinstance(latest[0], Item)
    assert isinstance(latest[1], UnreadableItem)
    assert "lacks title" in latest[1].problem.detail
    assert await visit.built.account(visit.ctx) == "mona@octo.example (Octo)"


async def test_what_is_too_large_comes_in_smaller_pages_or_without_its_text(
    visit: LinearConnection,
) -> None:
    for number in range(1, 9):
        visit.double.issue(number, visit.at(hours=number), description="x" * 90_000)
    visit.double.issue(9, visit.at(hours=9), description="x" * 500_000)
    seen, cursor, more = [], None, True
    while more:
        portion = await visit.poll(cursor)
        seen += items(portion)
        cursor, more = portion.cursor, portion.more
    assert [len(one.body) for one in seen] == [90_000] * 8 + [0]


async def test_a_poll_goes_on_where_it_ended_and_tells_of_what_is_new(
    visit: LinearConnection,
) -> None:
    for number in range(1, 31):
        visit.double.issue(number, visit.at(hours=number))
    visit.double.issue(31, visit.at(days=30))
    first = await visit.poll()
    assert (len(first.items), first.more) == (25, True)
    second = await visit.poll(first.cursor)
    assert [len(items(second)), second.more] == [5, False]
    assert {one.event for one in items(second)} == {None}
    # Broken off and begun again: nothing is lost. A place that is forgotten there begins anew.
    assert len((await visit.poll(first.cursor)).items) == 5
    assert first.cursor is not None
    lost = await visit.poll({**first.cursor, "after": "forgotten"})
    assert (len(lost.items), lost.more) == (25, True)
    assert (await visit.poll(second.cursor)).items == []

    soon = visit.at(hours=-1)
    visit.double.issue(32, soon)
    visit.double.issues[4]["updatedAt"] = soon
    third = items(await visit.poll(second.cursor))
    assert {(one.title, one.event) for one in third} == {
        ("ENG-32 Issue 32", "linear.issue_created"),
        ("ENG-5 Issue 5", None),
    }
    result = next(one for one in third if one.event)
    assert result.payload == {
        "id": "00000000-0000-4000-8000-000000000032",
        "identifier": "ENG-32",
        "title": "Issue 32",
        "url": "https://linear.app/octo/issue/ENG-32",
        "team": "ENG",
        "state": "Todo",
        "assignee": None,
        "created_at": soon,
    }
    assert (await visit.poll({"since": 7, "after": []})).more is True


RESET = "X-RateLimit-Requests-Reset: 1000000000000"


@pytest.mark.parametrize(
    ("content", "kind", "pause", "unsent"),
    [
        (
            refusal(
                "RATELIMITED", "Rate limit exceeded", "X-RateLimit-Requests-Remaining: 0", RESET
            ),
            UpstreamError,
            1.0,
            True,
        ),
        (refusal("RATELIMITED", "Rate limit exceeded", "Retry-After: 9"), UpstreamError, 9.0, True),
        (refusal("RATELIMITED", "Rate limit exceeded"), UpstreamError, 60.0, True),
        (refusal("AUTHENTICATION_ERROR", "Authentication required"), ReconnectRequired, None, True),
        (
            refusal("AUTHENTICATION_ERROR", "Authentication required", status=200),
            ReconnectRequired,
            None,
            True,
        ),
        (refusal("FORBIDDEN", "You do not have access"), PermissionDenied, None, True),
        (refusal("INTERNAL_SERVER_ERROR", "Oops", status=200), UpstreamError, None, None),
        (http_answer(503, b"busy", "Retry-After: 5"), UpstreamError, 5.0, None),
        (http_answer(302, b"", "Location: http://127.0.0.1:9/"), UpstreamError, None, True),
        (http_answer(200, b"<html>"), UpstreamError, None, None),
        (answer({"data": {"teams": {"nodes": "?"}}}), UpstreamError, None, None),
        (answer({"errors": ["?"]}), UpstreamError, None, None),
    ],
    ids=lambda value: None if isinstance(value, float | bool | None) else "",
)
async def test_a_refusal_says_what_happened_and_whether_anything_left(
    visit: LinearConnection,
    content: bytes,
    kind: type[Problem],
    pause: float | None,
    unsent: bool | None,
) -> None:
    visit.double.script = [content]
    with pytest.raises(kind) as refused:
        await visit.create()
    assert type(refused.value) is kind
    assert (refused.value.retry_after, refused.value.unsent) == (pause, unsent)
    assert TOKEN not in str(refused.value.as_dict())
    assert visit.double.messages == []


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ("ratelimited", UpstreamError, True),
        ("lock timeout", UpstreamError, True),
        ("internal error", UpstreamError, True),
        ("network error", UpstreamError, True),
        ("bootstrap error", UpstreamError, True),
        ("", UpstreamError, False),
        ("other", UpstreamError, False),
        ("unknown", UpstreamError, False),
        ("usage limit exceeded", PermissionDenied, False),
        ("feature not accessible", PermissionDenied, False),
        ("forbidden", PermissionDenied, False),
        ("authentication error", ReconnectRequired, False),
        ("invalid input", Invalid, False),
        ("user error", Invalid, False),
        ("graphql error", Invalid, False),
    ],
)
async def test_the_type_of_an_error_says_whether_another_try_helps(
    visit: LinearConnection, error: str, kind: type[Problem], retryable: bool, status: int
) -> None:
    visit.double.script = [typed(error, status=status)]
    with pytest.raises(Problem) as refused:
        await visit.poll(None)
    assert type(refused.value) is kind
    assert refused.value.retryable is retryable


async def test_an_internal_error_without_a_type_is_tried_again(visit: LinearConnection) -> None:
    visit.double.script = [typed("", "Internal server error")]
    with pytest.raises(UpstreamError) as refused:
        await visit.poll(None)
    assert refused.value.retryable is True


async def test_an_error_of_the_server_with_a_code_of_its_own_is_tried_again(
    visit: LinearConnection,
) -> None:
    visit.double.script = [refusal("SOMETHING_NEW", "Oops", status=200, kind="lock timeout")]
    with pytest.raises(UpstreamError) as refused:
        await visit.poll(None)
    assert refused.value.retryable is True
