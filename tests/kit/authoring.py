"""Authoring as a member does it, over the application of a bench."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.workspace.automation_list import read_automation
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.bench import Bench

CRON: Final = {"kind": "cron", "cron": "0 9 * * 1-5", "tz": "America/New_York"}
SOURCE: Final = (
    'import { brains } from "https://brains/sdks/automation-sdk-v1.ts";\n'
    'const board = await brains.get_board({ name: "CRM" });\n'
    "return { rows: board.data.datasets.default.rows.length };\n"
)


def draft(**changes: Any) -> dict[str, Any]:
    """A draft that can be saved, with what a test makes of it."""
    return {
        "name": "count rows",
        "source": SOURCE,
        "triggers": [CRON],
        "tool_grants": [{"tool": "get_board"}],
        **changes,
    }


class CapabilityClient:
    """A member at work; the owner when nobody else is named."""

    def __init__(self, bench: Bench, visitor: CapabilityCaller | None = None) -> None:
        self.bench = bench
        self.space = bench.application.workspace_id
        owner = Actor(self.space, "member", FIRST_MEMBER, role=Role.OWNER)
        self.caller = visitor or CapabilityCaller(owner)

    async def call(self, capability: str, given: Mapping[str, Any]) -> Any:
        """Calls through the gate: authorized by the role, and recorded."""
        return await self.bench.application.gate.direct(self.caller, capability, given)

    async def board(self, name: str, **more: Any) -> str:
        """A new board's id."""
        return str((await self.call("create_board", {"name": name, **more}))["id"])

    async def rows(self, board_id: str) -> list[dict[str, Any]]:
        found = await self.call("get_board", {"board_id": board_id})
        rows: list[dict[str, Any]] = found["data"]["datasets"]["default"]["rows"]
        return rows

    async def save(self, **changes: Any) -> str:
        """A saved draft's id."""
        return str((await self.call("save_automation_draft", draft(**changes)))["automation_id"])

    async def names(self) -> list[str]:
        """The automations there are."""
        rows = await self.bench.application.database.fetch(
            "SELECT name FROM automations WHERE workspace_id = $1 ORDER BY id", self.space
        )
        return [row["name"] for row in rows]

    async def stored(self, automation_id: UUID | str) -> dict[str, Any]:
        async with self.bench.application.database.acquire() as connection:
            return await read_automation(connection, self.space, UUID(str(automation_id)))
