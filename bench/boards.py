"""Boards through the gate against the bare SQL of the same work, in the same run.

``append`` is one call with 5,000 rows of eight fields; ``page`` is 1,000 rows of 100,000, from
the beginning, from the end, and from the end of a dataset in which a tenth is deleted. The
floor sends the same rows by the same statements and asks nobody.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import orjson

from bench.environment import fresh_house
from mainspring.app import Application
from mainspring.contracts.context import Actor
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.workspace.automations import FIRST_MEMBER

ROWS = 100_000
BATCH = 5_000
PAGE = 1_000
ROUNDS = 7
MOST_APPEND_MS = 500.0
MOST_PAGE_MS = 30.0

_APPEND = """
    INSERT INTO board_rows (workspace_id, dataset_id, row_id, position, data, bytes, dedupe_key,
        src)
    SELECT $1, $2, g.row_id, g.n, g.data::jsonb, octet_length(g.data), g.data::jsonb ->> 'url', 'x'
    FROM unnest($3::uuid[], $4::text[]) WITH ORDINALITY AS g(row_id, data, n)
"""
_PAGE = """
    SELECT row_id, data, src, updated_at FROM board_rows
    WHERE workspace_id = $1 AND dataset_id = $2 AND position >= $3 AND deleted_at IS NULL
    ORDER BY position LIMIT $4
"""


def some_rows(first: int, count: int = BATCH) -> list[dict[str, Any]]:
    """Rows like those of a list of contacts."""
    return [
        {
            "url": f"https://example.com/contacts/{number}",
            "company": f"Company number {number}",
            "state": "open",
            "price": number / 7,
            "due": "2026-01-31",
            "tags": ["new", "north"],
            "notes": "Called twice, wants to hear from us again in spring.",
            "contactIds": [str(number), str(number + 1)],
        }
        for number in range(first, first + count)
    ]


COLUMNS = [
    {"key": "url"},
    {"key": "state", "field_type": "select", "options": ["open", "won"]},
    {"key": "price", "field_type": "number"},
    {"key": "due", "field_type": "date"},
    {"key": "tags", "field_type": "tags"},
]


def measure() -> dict[str, dict[str, float]]:
    """Milliseconds through the gate and on the floor, and their ratio."""
    return asyncio.run(_measure())


async def _measure() -> dict[str, dict[str, float]]:
    async with fresh_house() as application:
        caller = CapabilityCaller(
            Actor(application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)
        )

        async def call(capability: str, **arguments: Any) -> Any:
            return await application.gate.direct(caller, capability, arguments)

        datasets = [{"name": "default", "columns": COLUMNS, "dedupe_key_field": "url"}]
        board = (await call("create_board", name="bench", datasets=datasets))["id"]
        appended: list[float] = []
        row_ids: list[str] = []
        for first in range(0, ROWS, BATCH):
            rows = some_rows(first)
            began = time.perf_counter()
            made = await call("append_board_rows", board_id=board, rows=rows)
            appended.append(_ms(began))
            row_ids += made["row_ids"]
        found = {"append 5,000": _row(appended, await _bare_appends(application))}
        again = some_rows(0)
        skipped = await _timed(
            lambda: call("append_board_rows", board_id=board, rows=again), rounds=3
        )
        found["append, all skipped"] = _row(skipped, [statistics.median(appended)])
        floor = await _timed(lambda: _bare_page(application, UUID(board), ROWS - PAGE))
        for name, offset in {"page, first": 0, "page, last": ROWS - PAGE}.items():
            through = await _timed(lambda at=offset: call("get_board", board_id=board, offset=at))  # type: ignore[misc]
            found[name] = _row(through, floor)
        for start in range(0, ROWS, 50_000):
            gone = row_ids[start : start + 50_000 : 10]
            await call("delete_board_rows", board_id=board, row_ids=gone)
        last = ROWS * 9 // 10 - PAGE
        through = await _timed(lambda: call("get_board", board_id=board, offset=last))
        found["page, last, a tenth deleted"] = _row(through, floor)
        return found


async def _bare_appends(application: Application) -> list[float]:
    """The same rows by one statement each, into a dataset that nobody knows."""
    dataset, accepted = generate_id(), []
    for first in range(0, BATCH * 5, BATCH):
        rows = some_rows(first)
        began = time.perf_counter()
        texts = [orjson.dumps(row).decode() for row in rows]
        ids = [generate_id() for _ in rows]
        async with application.database.transaction() as tx:
            await tx.execute(
                _APPEND.replace("g.n,", f"{first} + g.n,"),
                application.workspace_id,
                dataset,
                ids,
                texts,
            )
        accepted.append(_ms(began))
    return accepted


async def _bare_page(application: Application, board: UUID, position: int) -> list[dict[str, Any]]:
    async with application.database.acquire() as connection:
        dataset = await connection.fetchval(
            "SELECT id FROM board_datasets WHERE workspace_id = $1 AND board_id = $2",
            application.workspace_id,
            board,
        )
        rows = await connection.fetch(_PAGE, application.workspace_id, dataset, position, PAGE)
        return [{"row_id": str(row["row_id"]), **row["data"]} for row in rows]


async def _timed(work: Callable[[], Awaitable[Any]], rounds: int = ROUNDS) -> list[float]:
    accepted = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        await work()
        accepted.append(_ms(began))
    # The first one prepares the statements.
    return accepted[1:]


def _ms(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def _row(through: list[float], floor: list[float]) -> dict[str, float]:
    here, bare = statistics.median(through), statistics.median(floor)
    return {
        "ms": round(here, 1),
        "best_ms": round(min(through), 1),
        "worst_ms": round(max(through), 1),
        "floor_ms": round(bare, 1),
        "ratio": round(here / bare, 2),
    }


def show(found: dict[str, dict[str, float]]) -> None:
    print(f"{'':30} {'ms':>8} {'best':>8} {'worst':>8} {'floor':>8} {'ratio':>7}  wanted")
    for name, row in found.items():
        most = MOST_APPEND_MS if name.startswith("append") else MOST_PAGE_MS
        verdict = "ok" if row["ms"] <= most else "MISSED"
        print(
            f"{name:30} {row['ms']:>8.1f} {row['best_ms']:>8.1f} {row['worst_ms']:>8.1f} "
            f"{row['floor_ms']:>8.1f} {row['ratio']:>7.2f}  <= {most:.0f} ms {verdict}"
        )


if __name__ == "__main__":
    show(measure())
