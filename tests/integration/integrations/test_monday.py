"""monday.com over real HTTP: the rows of boards, updates, and what its refusals become."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import (
    Invalid,
    NotFound,
    PermissionDenied,
    Problem,
    ReconnectRequired,
    TooLarge,
    UpstreamError,
)
from mainspring.contracts.integration import Integration
from mainspring.contracts.limits import Limits
from mainspring.integrations.monday import integration
from tests.kit.doubles.monday import TOKEN, MondayDouble, answer, monday_double, refusal
from tests.kit.handler_context import visiting
from tests.kit.scripted_server import http_answer

LIMITS = Limits(http_response_bytes=400_000)
REF: Mapping[str, Any] = {"board_id": "77"}
UPDATE = {"item_id": "1", "body": "Mended"}


@dataclass(frozen=True, slots=True)
class MondayConnection:
    """monday.com's double, what is built over it, and a context to speak through."""

    double: MondayDouble
    built: Integration
    ctx: CallContext

    async def rows(
        self, name: str = "list_items", ref: Mapping[str, Any] = REF, **params: Any
    ) -> list[Any]:
        (adapter,) = self.built.adapters
        (found,) = [one for one in adapter.operations if one.id == f"monday.{name}"]
        rows: list[Any] = list(await found.rows(self.ctx, adapter.normal(ref), params))
        assert all(row.keys() >= found.columns.keys() for row in rows)
        return rows

    async def post(self, **arguments: Any) -> Any:
        return await self.built.capabilities[0].handler(self.ctx, {**UPDATE, **arguments})


@pytest.fixture
async def visit() -> AsyncIterator[MondayConnection]:
    async with monday_double() as double:
        built = integration({"monday": double.url})
        # A connection has what a sign-in asks for, and nothing more.
        double.scopes = frozenset(built.manifest["auth"]["scopes"])
        async with visiting(
            double.pair, integration="monday", secrets={"token": TOKEN}, limits=LIMITS
        ) as ctx:
            yield MondayConnection(double, built, ctx)


async def test_items_come_to_the_end_with_their_columns_as_columns(visit: MondayConnection) -> None:
    for number in range(1, 131):
        visit.double.item("77", number)
    visit.double.boards["77"][1].update(group=None, column_values=None)

    rows = await visit.rows(ref={"board_id": 77})

    assert [row["id"] for row in rows] == [str(number) for number in range(1, 131)]
    assert rows[0] == {
        "id": "1",
        "name": "Item 1",
        "group": "This month",
        "state": "active",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-02T00:00:00Z",
        "url": "https://octo.monday.com/boards/77/pulses/1",
        "status": "Done",
        "due_date": "2026-03-01",
        "cost": 12.5,
        "done": True,
        "status_text2": None,
        "state_mirror3": "Upstairs",
    }
    # What half an item lacks is empty, and its row has the same columns.
    assert rows[1].keys() == rows[0].keys()
    assert (rows[1]["group"], rows[1]["status"]) == (None, None)
    by_id = await visit.rows(names="id", limit=60)
    assert (len(by_id), by_id[0]["numbers7"]) == (60, 12.5)
    assert (await visit.rows("list_boards", {}))[0] == {
        "id": "77",
        "name": "Doors",
        "state": "active",
        "kind": "public",
        "workspace_id": "7",
        "items_count": 130,
        "updated_at": "2026-01-02T00:00:00Z",
        "url": "https://octo.monday.com/boards/77",
    }
    assert await visit.built.account(visit.ctx) == "mona@octo.example (Octo)"


async def test_boards_are_listed_to_the_end(visit: MondayConnection) -> None:
    for number in range(201):
        visit.double.boards[str(number + 1)] = []
    assert len(await visit.rows("list_boards")) == 201
    assert len(await visit.rows("list_boards", limit=150)) == 150


async def test_what_is_too_large_comes_in_smaller_pages_and_too_many_are_reported(
    visit: MondayConnection,
) -> None:
    for number in range(1, 31):
        visit.double.item("77", number, name="x" * 30_000)
    assert [row["id"] for row in await visit.rows()] == [str(n) for n in range(1, 31)]
    visit.double.boards["78"] = [
        {"id": str(number), "name": "x", "column_values": []} for number in range(5_001)
    ]
    with pytest.raises(TooLarge, match="more than 5000"):
        await visit.rows(ref={"board_id": "78"})


async def test_a_board_that_is_hidden_or_not_named_is_reported(visit: MondayConnection) -> None:
    with pytest.raises(NotFound, match="Board 77 is not there, or not visible"):
        await visit.rows()
    with pytest.raises(Invalid) as unnamed:
        await visit.rows(ref={})
    assert unnamed.value.findings[0].pointer == "/board_id"
    visit.double.item("77", 1)
    del visit.double.boards["77"][0]["id"]
    with pytest.raises(UpstreamError, match="lacks an id"):
        await visit.rows()


async def test_an_update_arrives_as_the_text_that_was_shown(visit: MondayConnection) -> None:
    visit.double.item("77", 1)
    made = await visit.post(body="a < b & c\n<b>not bold</b>")
    assert made == {"update_id": "3456789012", "item_id": "1"}
    assert visit.double.messages[-1] == {
        "field": "create_update",
        "item": "1",
        "body": "a &lt; b &amp; c<br>&lt;b&gt;not bold&lt;/b&gt;",
    }
    with pytest.raises(NotFound, match="Item not found"):
        await visit.post(item_id="2")


OLD = {
    "error_code": "ComplexityException",
    "status_code": 429,
    "account_id": 1,
    "error_message": "Complexity budget exhausted, budget remaining 9 reset in 13 seconds",
    "errors": ["Complexity budget exhausted, reset in 13 seconds"],
}


@pytest.mark.parametrize(
    ("content", "kind", "pause", "unsent"),
    [
        (
            refusal("COMPLEXITY_BUDGET_EXHAUSTED", "Complexity", retry_in_seconds=15),
            UpstreamError,
            15.0,
            True,
        ),
        (answer(OLD), UpstreamError, 13.0, True),
        (
            refusal("maxConcurrencyExceeded", "Concurrency", "Retry-After: 3", status=429),
            UpstreamError,
            3.0,
            True,
        ),
        (refusal("DAILY_LIMIT_EXCEEDED", "Daily limit"), UpstreamError, 60.0, True),
        (answer({"errors": ["Not Authenticated"]}, status=401), ReconnectRequired, None, True),
        (
            refusal("UserUnauthorizedException", "User unauthorized", status_code=403),
            PermissionDenied,
            None,
            True,
        ),
        (refusal("missingRequiredPermissions", "Scope"), PermissionDenied, None, True),
        (refusal("InvalidBoardIdException", "Board"), NotFound, None, True),
        (refusal("InvalidArgumentException", "Wrong"), Invalid, None, True),
        (
            answer({"error_message": "Internal server error", "status_code": 500}, status=500),
            UpstreamError,
            60.0,
            None,
        ),
        (http_answer(502, b"bad gateway", "Retry-After: 5"), UpstreamError, 5.0, None),
        (http_answer(302, b"", "Location: http://127.0.0.1:9/"), UpstreamError, None, True),
        (http_answer(200, b"<html>"), UpstreamError, None, None),
        (answer({"data": {"create_update": None}}), UpstreamError, None, None),
    ],
    ids=lambda value: None if isinstance(value, float | bool | None) else "",
)
async def test_a_refused_update_says_what_happened_and_whether_anything_left(
    visit: MondayConnection,
    content: bytes,
    kind: type[Problem],
    pause: float | None,
    unsent: bool | None,
) -> None:
    visit.double.script = [content]
    with pytest.raises(kind) as refused:
        await visit.post()
    assert type(refused.value) is kind
    assert (refused.value.retry_after, refused.value.unsent) == (pause, unsent)
    assert refused.value.retryable is (pause is not None)
    assert TOKEN not in str(refused.value.as_dict())
