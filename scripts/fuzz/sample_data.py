"""Uses an application for a while, so that fuzz requests find something behind every name.

Everything is made by the product itself, over its own REST surface: a row that it could never
have written would only find errors that nobody can meet.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from mainspring.app import Application
from mainspring.contracts.roles import Role
from mainspring.runs.rows import FINAL
from tests.kit.api import owner_session
from tests.kit.tenants import add_person

ROOT: Final = "/api/v1"
_PATIENCE: Final = 60.0
_LISTEN: Final = {
    "event_type": "automation.run.failed",
    "filters": {"automation_name": {"equals": "another"}},
}
_TRIGGERS: Final = [
    {"id": "hook", "type": "webhook", "config": {}},
    {"id": "daily", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}},
    {"id": "ends", "type": "event", "config": _LISTEN},
]
_FORM: Final = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}
_COLUMNS: Final = [
    {"key": "company", "label": "Company"},
    {"key": "worth", "label": "Worth", "field_type": "number"},
    {"key": "state", "label": "State", "field_type": "select", "options": ["new", "won"]},
    {"key": "since", "label": "Since", "field_type": "date"},
]


def _plan(*steps: tuple[str, str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{"step_id": name, "action": kind, "config": config} for name, kind, config in steps]


# A plan for each way in which a run can end, or go on.
_PLANS: Final[Mapping[str, Sequence[dict[str, Any]]]] = {
    "counts": _plan(
        ("one", "transform_data", {"output": {"n": 1}}),
        ("two", "transform_data", {"output": "{{ steps.one.n }}"}),
    ),
    "breaks": _plan(("one", "transform_data", {"output": "{{ 'tomorrow' | date('%Y') }}"})),
    "asks": _plan(("one", "approval", {"title": "On which day?", "form": _FORM})),
    "naps": _plan(("one", "delay", {"seconds": 3600})),
    "tells": _plan(("one", "notification", {"title": "Done", "message_template": "It is done."})),
    "nudges": _plan(("one", "telegram_push", {"text": "Hello"})),
    "keeps": _plan(("one", "artifacts.save", {"name": "report.md", "text": "# Report"})),
}
_WAITS: Final = frozenset({"asks", "naps"})


def _definition(name: str, plan: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "schema_version": "1.2",
        "name": name,
        "goal": "To be looked at.",
        "triggers": _TRIGGERS,
        "plan": list(plan),
    }


@dataclass(frozen=True, slots=True)
class Owner:
    """A client that creates the sample data."""

    client: httpx2.AsyncClient

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = await self.client.request(
            method, ROOT + path, **({} if body is None else {"json": body})
        )
        assert answer.status_code < 300, f"{method} {path}: {answer.text}"
        return answer.json() if answer.content else None


async def live(application: Application, address: str, token: str) -> None:
    """One of everything, once more each time that it is called."""
    mark = secrets.token_hex(2)
    del token
    known = await owner_session(application)
    async with httpx2.AsyncClient(
        base_url=address, headers=known, timeout=_PATIENCE, verify=False
    ) as client:
        owner = Owner(client)
        await _moments(owner, mark)
        made = await _automations(owner, mark)
        await _runs(owner, made)
        await _things(owner, made, mark)
        await _rights(owner, mark)
        await _grown(owner, made)
    # Somebody whom nobody needs, for routes that remove people and tokens.
    await add_person(
        application.database, application.workspace_id, Role.VIEWER, name=f"spare {mark}"
    )


async def _moments(owner: Owner, mark: str) -> None:
    kind = {"description": "Something was made.", "payload_schema": {"type": "object"}}
    await owner.ask("PUT", f"/event-types/lived.made_{mark}", kind)
    event = {"type": f"lived.made_{mark}", "payload": {"n": 1}, "source_id": f"source-{mark}"}
    await owner.ask("POST", "/events", event)


async def _automations(owner: Owner, mark: str) -> dict[str, str]:
    made = {}
    for name, plan in _PLANS.items():
        expected = _definition(f"it {name} {mark}", plan)
        made[name] = str((await owner.ask("POST", "/automations", expected))["id"])
    one = f"/automations/{made['counts']}"
    changed = {**_definition(f"it counts {mark}", _PLANS["counts"]), "goal": "Count on."}
    await owner.ask("PUT", one, changed)
    await owner.ask("POST", f"{one}/triggers/hook/token")
    await owner.ask("POST", f"{one}/activate")
    return made


async def _runs(owner: Owner, made: Mapping[str, str]) -> None:
    runs = {}
    for name, automation_id in made.items():
        started = await owner.ask("POST", f"/automations/{automation_id}/run", {})
        runs[name] = str(started["run_id"])
    cancelled = await owner.ask("POST", f"/automations/{made['naps']}/run", {})
    for name, run_id in runs.items():
        if name not in _WAITS:
            await _ended(owner, run_id)
    await owner.ask("POST", f"/runs/{cancelled['run_id']}/cancel")


async def _ended(owner: Owner, run_id: str) -> None:
    async with asyncio.timeout(_PATIENCE):
        while (await owner.ask("GET", f"/runs/{run_id}"))["status"] not in FINAL:
            await asyncio.sleep(0.05)


async def _things(owner: Owner, made: Mapping[str, str], mark: str) -> None:
    asked = {"name": f"Leads {mark}", "datasets": [{"name": "default", "columns": _COLUMNS}]}
    board = (await owner.ask("POST", "/boards", asked))["id"]
    rows = [{"company": f"Company {n}", "worth": n, "state": "new"} for n in range(5)]
    await owner.ask("POST", f"/boards/{board}/rows", {"rows": rows})
    await owner.ask("PUT", f"/boards/{board}/skills/score", {"prompt": "Score {{ row.company }}."})
    field = {"key": "company", "required": True}
    await owner.ask("PUT", f"/boards/{board}/forms/contact", {"fields": [field]})
    await owner.ask("PUT", f"/boards/{board}/dashboard", {"html": "<h1>Leads</h1>"})
    for kind, title in (("note", "What we agreed"), ("person", "Aino"), ("company", "Lund Ure")):
        page = {"type": kind, "title": f"{title} {mark}", "body": "Brass, and **more** brass."}
        await owner.ask("POST", "/pages", page)
    workflow = {
        "title": f"Tower clock {mark}",
        "charter": "The clock strikes again.",
        "kpis": [{"name": "Parts", "target": 12, "current": 7, "unit": "parts"}],
        "deadlines": [{"label": "Market", "date": "2026-12-01"}],
        "automation_ids": [made["naps"]],
        "timezone": "Europe/Berlin",
        "make_board": True,
    }
    await owner.ask("POST", "/workflows", workflow)


async def _rights(owner: Owner, mark: str) -> None:
    invited = {"email": f"noor-{mark}@example.org", "role": "editor"}
    await owner.ask("POST", "/invitations", invited)
    await owner.ask("POST", "/tokens", {"name": "Laptop", "role": "editor"})
    secret = {"name": f"forge_key_{mark}", "value": "not-shown-again"}
    await owner.ask("POST", "/secrets", secret)
    await owner.ask(
        "POST", "/publisher-secrets", {"name": f"KEY_{mark}".upper(), "value": "x1y2z3"}
    )
    client = {"client_id": "1234.apps.example", "client_secret": "GOCSPX-0123456789"}
    await owner.ask("PUT", "/oauth-clients/google", client)
    model = {
        "kind": "compatible",
        "base_url": "http://127.0.0.1:9/v1",
        "models": ["small"],
        "usual_model": "small",
    }
    await owner.ask("PUT", "/admin/models/connections/house", model)
    price = {"input_usd_per_million": 1, "output_usd_per_million": 2}
    await owner.ask("PUT", "/admin/models/prices/house%2Fsmall", price)
    await owner.ask("POST", "/admin/users", {"email": f"ada-{mark}@example.org", "name": "Ada"})


async def _grown(owner: Owner, made: Mapping[str, str]) -> None:
    phrase = "every weekday at 9 Berlin time remind me to plan the day"
    await owner.ask("POST", "/proposals", {"text": phrase, "by": "rules", "timezone": "UTC"})
    await owner.ask("PUT", "/prompts/Digest", {"text": phrase})
    for text in ("Hello", "Hello again"):
        await owner.ask("POST", "/capabilities/telegram_push", {"text": text})
    await owner.ask("POST", f"/automations/{made['counts']}/rehearsals", {})
    await owner.ask("POST", "/recipes/uptime-board/apply", {})
