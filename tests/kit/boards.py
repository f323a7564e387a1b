"""A board in an application, and a member who calls the capabilities of boards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.app import Application
from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.workspace.automations import FIRST_MEMBER

Row = dict[str, Any]
# A long dataset, faster than anybody appends: $1 is the board, $2 how many rows it gets.
MANY_ROWS: Final = """
    WITH put AS (
        INSERT INTO board_rows (workspace_id, dataset_id, row_id, position, data, bytes, src)
        SELECT workspace_id, id, gen_random_uuid(), n - 1, data, octet_length(data::text), 'member:'
        FROM board_datasets, generate_series(1, $2::integer) AS n, LATERAL (
            SELECT jsonb_build_object('company', 'Company ' || n, 'price', n,
                'state', CASE n % 2 WHEN 0 THEN 'open' ELSE 'won' END) AS data
        ) AS made
        WHERE board_id = $1::uuid
    )
    UPDATE board_datasets SET appended = $2, live = $2 WHERE board_id = $1::uuid
"""


@dataclass(frozen=True, slots=True)
class Boards:
    """Boards as one member sees them."""

    application: Application
    role: Role = Role.OWNER

    @property
    def caller(self) -> CapabilityCaller:
        return CapabilityCaller(
            Actor(self.application.workspace_id, "member", FIRST_MEMBER, role=self.role)
        )

    async def call(self, capability: str, **arguments: Any) -> dict[str, Any]:
        answer = await self.application.gate.direct(self.caller, capability, arguments)
        assert isinstance(answer, dict)
        return answer

    async def create(self, name: str = "CRM", **more: Any) -> str:
        made = await self.call("create_board", name=name, **more)
        return str(made["id"])

    async def append(self, board_id: str, *rows: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        return await self.call(
            "append_board_rows", board_id=board_id, rows=[dict(row) for row in rows], **more
        )

    async def page(self, board_id: str, dataset: str = "default", **more: Any) -> dict[str, Any]:
        found = await self.call("get_board", board_id=board_id, dataset=dataset, **more)
        page = found["data"]["datasets"][dataset]
        assert isinstance(page, dict)
        return page

    async def rows(self, board_id: str, dataset: str = "default", **more: Any) -> list[Row]:
        found: list[Row] = (await self.page(board_id, dataset, **more))["rows"]
        return found

    async def events(self) -> list[dict[str, Any]]:
        """What the event log holds about boards, oldest first."""
        found = await self.application.database.fetch(
            "SELECT payload FROM events WHERE workspace_id = $1 AND type = 'board.changed' "
            "ORDER BY id",
            self.application.workspace_id,
        )
        return [row["payload"] for row in found]


def values(rows: list[Row], *keys: str) -> list[Any]:
    """One field of each row, or several of them."""
    if len(keys) == 1:
        return [row.get(keys[0]) for row in rows]
    return [tuple(row.get(key) for key in keys) for row in rows]
