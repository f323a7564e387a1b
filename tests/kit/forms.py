"""A form that can be sent: saved, armed, and with its link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx2

from mainspring.workspace.automations import AutomationStatus, set_state
from tests.kit.api import Api
from tests.kit.bench import Bench, document, step

ECHO = step("echo", "transform_data", {"output": {"got": "{{ trigger.values | tojson }}"}})
FIELDS: dict[str, Any] = {
    "type": "object",
    "required": ["email"],
    "properties": {
        "email": {"type": "string", "title": "Email", "minLength": 3, "pattern": "@"},
        "days": {"type": "integer", "title": "Days", "minimum": 1, "maximum": 30},
    },
}


@dataclass(frozen=True, slots=True)
class SavedForm:
    """One form and how to reach it."""

    api: Api
    automation_id: UUID
    url: str

    @property
    def path(self) -> str:
        return f"/api/v1/forms/{self.url.rpartition('/')[2]}"

    async def open(self, client: httpx2.AsyncClient | None = None) -> dict[str, Any]:
        """Reads it as its page does."""
        answer = await (client or self.api.anonymous).get(self.path)
        assert answer.status_code == 200, answer.text
        shown: dict[str, Any] = answer.json()
        return shown

    async def send(
        self,
        values: Mapping[str, Any],
        *,
        token: str | None = None,
        client: httpx2.AsyncClient | None = None,
        **more: Any,
    ) -> httpx2.Response:
        """Sends it as its page does; without a token it is shown first."""
        shown = token if token is not None else (await self.open(client))["token"]
        return await (client or self.api.anonymous).post(
            self.path, json={"values": dict(values), **more}, headers={"Form-Token": shown}
        )


def form(slug: str = "form", **config: Any) -> dict[str, Any]:
    """A form trigger of a definition that may be sent at once."""
    return {"id": slug, "type": "form", "config": {"min_seconds": 0, **config}}


async def save_form(
    bench: Bench,
    api: Api,
    trigger: Mapping[str, Any] | None = None,
    *,
    fields: Mapping[str, Any] | None = None,
    state: AutomationStatus = "active",
    **more: Any,
) -> SavedForm:
    """Saves and activates an automation with a form."""
    plan = more.pop("plan", [ECHO])
    entry = form() if trigger is None else trigger
    saved = await bench.save(
        document(
            *plan,
            name=more.pop("name", "Ask for leave"),
            inputs={"schema": dict(fields or FIELDS)},
            triggers=[entry],
            **more,
        )
    )
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, saved.automation_id, state)
    found = await read_trigger(api, saved.automation_id, entry["id"])
    return SavedForm(api, saved.automation_id, found["form_url"])


async def read_trigger(api: Api, automation_id: UUID, slug: str = "form") -> dict[str, Any]:
    answer = await api.client.get(f"/api/v1/automations/{automation_id}/triggers/{slug}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found
