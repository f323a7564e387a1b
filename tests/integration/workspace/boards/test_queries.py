"""Rows that are searched, filtered, sorted and counted in groups, and a dashboard that is shown."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.workspace.boards.row_queries import COUNTED
from tests.kit.api import Api
from tests.kit.bench import Bench
from tests.kit.boards import MANY_ROWS, Boards, values

ROWS: list[dict[str, Any]] = [
    {"name": "bolt", "price": 9, "due": "2026-02-01", "tags": ["new"]},
    {"name": "Anvil", "price": 100, "due": "2026-01-31T09:00:00Z"},
    {"name": "cog", "price": "n/a", "due": None, "tags": []},
    {"name": "100% _steel_", "price": 10.5, "due": "2026-02-03"},
    {"name": "gone", "price": 1},
]


async def test_rows_are_found_sorted_and_counted_as_they_are_asked_for(bench: Bench) -> None:
    boards = Boards(bench.application)
    board = await boards.create()
    made = await boards.append(board, *ROWS)
    await boards.call("delete_board_rows", board_id=board, row_ids=made["row_ids"][4:])

    async def names(**asked: Any) -> list[Any]:
        return values(await boards.rows(board, **asked), "name")

    async def kept(field: str, op: str, value: Any = None) -> list[Any]:
        wish = {"field": field, "op": op} | ({} if value is None else {"value": value})
        return await names(filters=[wish])

    # Numbers by their size, texts in any case, nothing last in both directions.
    assert await names(sort="price") == ["bolt", "100% _steel_", "Anvil", "cog"]
    assert await names(sort="name") == ["100% _steel_", "Anvil", "bolt", "cog"]
    assert await names(sort="due", descending=True) == ["100% _steel_", "bolt", "Anvil", "cog"]
    assert await names(sort="no such field") == ["bolt", "Anvil", "cog", "100% _steel_"]
    assert (await names(sort="price", include_deleted=True))[0] == "gone"
    # A search finds signs as they are written, in values and never in the names of fields.
    assert await names(search="% _") == ["100% _steel_"]
    assert await names(search="ANV") == ["Anvil"]
    assert await names(search="price") == []
    assert await kept("name", "is", "anvil") == ["Anvil"]
    assert await kept("name", "is_not", "anvil") == ["bolt", "cog", "100% _steel_"]
    assert await kept("name", "contains", "O") == ["bolt", "cog"]
    assert await kept("price", "above", "10") == ["Anvil", "100% _steel_"]
    assert await kept("price", "below", 10) == ["bolt"]
    assert await kept("due", "from", "2026-02-01") == ["bolt", "100% _steel_"]
    assert await kept("due", "until", "2026-01-31") == ["Anvil"]
    assert await kept("tags", "empty") == ["Anvil", "cog", "100% _steel_"]
    assert await kept("tags", "filled") == ["bolt"]
    assert await names(search="'; DROP TABLE board_rows; --") == []
    # The total is of what was found, and pages go on behind one another.
    page = await boards.page(board, sort="price", search="o", offset=1, limit=1)
    assert (values(page["rows"], "name"), page["total"], page["next_offset"]) == (["cog"], 2, None)

    for wrong, pointer in (
        ({"filters": [{"field": "price", "op": "above", "value": "much"}]}, "/filters/0/value"),
        ({"filters": [{"field": "price", "op": "is"}]}, "/filters/0/value"),
        ({"sort": "price", "after": made["row_ids"][0]}, "/after"),
    ):
        with pytest.raises(Invalid) as refused:
            await boards.rows(board, **wrong)
        assert refused.value.findings[0].pointer == pointer

    async def groups(**asked: Any) -> list[Any]:
        result = await boards.call("summarize_board_rows", board_id=board, **asked)
        return [(one["value"], one["number"]) for one in result["groups"]]

    months = [("2026-01", 1), ("2026-02", 2), (None, 1)]
    assert await groups(by="due", per="month") == months
    by_sum = await groups(by="due", per="month", how="sum", of="price", order="number")
    assert by_sum == [("2026-01", 100), ("2026-02", 19.5), (None, None)]
    assert await groups(by="price", search="bolt") == [("9", 1)]
    assert await groups(by="price", limit=2) == [("9", 1), ("10.5", 1)]
    with pytest.raises(Invalid):
        await groups(by="due", how="sum")


async def test_very_many_found_rows_are_counted_a_few_thousand_behind_the_page(
    bench: Bench,
) -> None:
    boards = Boards(bench.application)
    board = await boards.create()
    there = COUNTED + 10
    await bench.application.database.execute(MANY_ROWS, UUID(board), there)

    async def found(word: str, offset: int = 0, **more: Any) -> tuple[Any, ...]:
        page = await boards.page(board, search=word, offset=offset, limit=5, **more)
        names = values(page["rows"], "company")
        return len(names), page["total"], page.get("more_than_total"), page["next_offset"]

    assert await found("company") == (5, COUNTED + 5, True, 5)
    assert await found("company", sort="price", descending=True) == (5, COUNTED + 5, True, 5)
    assert await found("company", 20) == (5, there, None, 25)
    # The last page and whatever is behind it know how many there are.
    assert await found("company", there - 2) == (2, there, None, None)
    assert await found("company", there + 90) == (0, there, None, None)
    assert await found("company 77") == (5, 111, None, 5)
    assert await found("company 10010") == (1, 1, None, None)
    assert await found("nobody") == (0, 0, None, None)


async def test_a_look_over_rest_and_a_dashboard_that_can_do_nothing(api: Api) -> None:
    made = await api.client.post("/api/v1/boards", json={"name": "Shop"})
    one = f"/api/v1/boards/{made.json()['id']}"
    await api.client.post(f"{one}/rows", json={"rows": ROWS[:2]})
    asked = {"filters": ['{"field": "price", "op": "above", "value": 50}'], "sort": "price"}
    found = (await api.client.get(f"{one}/rows", params=asked)).json()
    assert values(found["data"]["datasets"]["default"]["rows"], "name") == ["Anvil"]
    summary = (await api.client.get(f"{one}/summary", params={"by": "name"})).json()
    assert summary["of"] == 2

    assert (await api.client.get(f"{one}/dashboard.html")).status_code == 404
    await api.client.put(f"{one}/dashboard", json={"html": "<script>alert(1)</script><p>Hi"})
    shown = await api.client.get(f"{one}/dashboard.html")
    assert shown.headers["content-type"].startswith("text/html")
    assert shown.text == "<script>alert(1)</script><p>Hi"
    policy = shown.headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'; ")
    assert "script" not in policy
    assert "frame-ancestors 'self'" in policy
    assert (await api.anonymous.get(f"{one}/dashboard.html")).status_code == 401
