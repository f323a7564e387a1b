"""A webhook that can be called: saved, armed, and with a token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx2

from mainspring.workspace.automations import FIRST_MEMBER, set_state
from mainspring.workspace.webhooks import rotate
from tests.kit.api import Api
from tests.kit.bench import Bench, document, step

PLAN = step("echo", "transform_data", {"output": "{{ trigger }}"})


def webhook(slug: str = "hook", **more: Any) -> dict[str, Any]:
    """A webhook trigger of a definition."""
    return {"id": slug, "type": "webhook", **more}


@dataclass(frozen=True, slots=True)
class Hook:
    """One webhook and how to reach it."""

    api: Api
    automation_id: UUID
    slug: str
    token: str

    @property
    def path(self) -> str:
        return f"/api/v1/automations/{self.automation_id}/fire"

    @property
    def signed_path(self) -> str:
        return f"/api/v1/automations/{self.automation_id}/hooks/{self.slug}"

    async def fire(
        self,
        body: Any = None,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> httpx2.Response:
        """Calls it as an outside system does."""
        shown = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        if key is not None:
            shown["Idempotency-Key"] = key
        if body is not None:
            more["json"] = body
        return await self.api.anonymous.post(self.path, headers=shown, **more)


async def hook(
    bench: Bench, api: Api, *triggers: Mapping[str, Any], name: str = "hooked", **more: Any
) -> Hook:
    """Saves and activates an automation; its first webhook gets a token."""
    entries = list(triggers) or [webhook()]
    plan = more.pop("plan", [PLAN])
    saved = await bench.save(document(*plan, name=name, triggers=entries, **more))
    space = bench.application.workspace_id
    async with bench.application.database.transaction() as tx:
        await set_state(tx, space, saved.automation_id, "active")
        _, plain = await rotate(tx, space, saved.automation_id, entries[0]["id"], FIRST_MEMBER)
    return Hook(api, saved.automation_id, entries[0]["id"], plain)


async def runs(bench: Bench) -> int:
    """How many runs there are, of whatever status."""
    return int(await bench.application.database.fetchval("SELECT count(*) FROM runs"))
