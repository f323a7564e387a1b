"""A workspace with sample data: automations with runs, an inbox, boards, pages and people.

Every screen is checked and photographed with it: an empty workspace shows how a screen
begins, and this one how it looks after a few weeks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from tests.acceptance.commands import EXAMPLES, definition, step
from tests.kit.browsers import BrowserSession

_SCHEDULE: Final = {
    "id": "weekdays",
    "type": "schedule",
    "config": {"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"},
}
_LEADS: Final = [
    ("Aino Virtanen", "Helsinki Clockworks", "won", 4200, "2026-10-02"),
    ("Bram de Wit", "De Wit & Zonen", "talking", 1800, "2026-10-09"),
    ("Chiara Rossi", "Orologi Rossi", "talking", 2600, "2026-10-14"),
    ("Dilan Kaya", "Kaya Saat", "new", 900, "2026-10-20"),
    ("Emeka Obi", "Lagos Time", "won", 5100, "2026-10-27"),
    ("Freya Lund", "Lund Ure", "lost", 700, "2026-11-03"),
    ("Goro Sato", "Sato Tokei", "new", 3300, "2026-11-08"),
    ("Hana Novak", "Novák Hodiny", "talking", 1500, "2026-11-12"),
]
_NOTE: Final = """# What we agreed on Monday

The escapement of the tower clock is worn; **Lund Ure** sends an offer.

- Wind it by hand until then
- Ask *Aino* about brass
- The next look is on [Thursday](https://example.org/calendar)

> A clock that stops is right twice a day.
"""


def furnished(session: BrowserSession) -> dict[str, str]:
    """Fills a workspace; answers the address of every screen by its name."""
    automations = _automations(session)
    runs = _runs(session, automations)
    board = _board(session)
    _pages(session)
    workflow = _workflow(session, automations["nap"])
    _people(session)
    proposal = _proposal(session)
    digest = automations["digest"]
    return {
        "home": "/",
        "new": "/new",
        "proposal": f"/proposals/{proposal}",
        "automations": "/automations",
        "automation": f"/automations/{digest}",
        "automation-triggers": f"/automations/{automations['webhook']}/triggers",
        "automation-versions": f"/automations/{digest}/versions",
        "automation-grants": f"/automations/{automations['mail']}/grants",
        "automation-runs": f"/automations/{digest}/runs",
        "automation-settings": f"/automations/{digest}/settings",
        "editor": f"/automations/{automations['mail']}/edit",
        "runs": "/runs",
        "run": f"/runs/{runs['each']}",
        "run-failed": f"/runs/{runs['failed']}",
        "inbox": "/inbox",
        "integrations": "/integrations",
        "integration": "/integrations/github",
        "codex": "/codex",
        "recipe": "/codex/uptime-check",
        "boards": "/boards",
        "board": f"/boards/{board}",
        "pages": "/pages",
        "page": "/pages/what-we-agreed-on-monday",
        "workflows": "/workflows",
        "workflow": f"/workflows/{workflow}",
        "secrets": "/secrets",
        "models": "/models",
        "costs": "/costs",
        "audit": "/audit",
        "health": "/health",
        "connect": "/connect",
        "settings": "/settings",
        "members": "/settings/members",
        "tokens": "/settings/tokens",
    }


def _example(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))
    return found


def _automations(session: BrowserSession) -> dict[str, str]:
    digest = definition(
        "Morning digest",
        [
            step(
                "collect", "transform_data", output={"lines": ["3 new orders", "1 open question"]}
            ),
            step("write", "transform_data", output="{{ steps.collect.lines | join(', ') }}"),
        ],
        triggers=[_SCHEDULE],
    )
    made = {
        "digest": session.saved(digest, active=True),
        "mail": session.saved(_example("email_report"), active=True),
        "each": session.saved(_example("for_each")),
        "webhook": session.saved(_example("ci_webhook"), active=True),
        "broken": session.saved(
            definition(
                "Read the price list",
                [step("read", "transform_data", output="{{ 'tomorrow' | date('%Y') }}")],
            )
        ),
        "ask": session.saved(
            definition(
                "Publish the newsletter",
                [
                    step(
                        "day",
                        "approval",
                        title="On which day do we publish?",
                        message="The text is ready; Thursday has been best so far.",
                        form={
                            "type": "object",
                            "required": ["day"],
                            "properties": {"day": {"type": "string", "format": "date"}},
                        },
                    )
                ],
            )
        ),
        "nap": session.saved(definition("Watch the kiln", [step("wait", "delay", seconds=3600)])),
    }
    changed: Mapping[str, Any] = {**digest, "goal": "Say in one line what the day brings."}
    session.ask("PUT", f"/automations/{made['digest']}", changed)
    return made


def _runs(session: BrowserSession, automations: Mapping[str, str]) -> dict[str, str]:
    names = ("digest", "each", "broken", "mail", "ask", "nap")
    made = {name: session.started_run(automations[name]) for name in names}
    for name in ("digest", "each", "broken", "mail"):
        session.ended(made[name])
    session.ended(session.started_run(automations["digest"]))
    return {"each": made["each"], "failed": made["broken"], "mail": made["mail"]}


def _board(session: BrowserSession) -> str:
    columns = [
        {"key": "name", "label": "Name"},
        {"key": "company", "label": "Company"},
        {
            "key": "state",
            "label": "State",
            "field_type": "select",
            "options": ["new", "talking", "won", "lost"],
        },
        {"key": "worth", "label": "Worth", "field_type": "number"},
        {"key": "since", "label": "Since", "field_type": "date"},
    ]
    asked = {"name": "Leads", "datasets": [{"name": "default", "columns": columns}]}
    board = str(session.ask("POST", "/boards", asked)["id"])
    keys = ("name", "company", "state", "worth", "since")
    rows = [dict(zip(keys, lead, strict=True)) for lead in _LEADS]
    session.ask("POST", f"/boards/{board}/rows", {"rows": rows})
    return board


def _pages(session: BrowserSession) -> None:
    for kind, title, body in (
        ("note", "What we agreed on Monday", _NOTE),
        ("person", "Aino Virtanen", "Knows about brass. Prefers mail to calls."),
        ("company", "Lund Ure", "Repairs tower clocks since 1911."),
    ):
        session.ask("POST", "/pages", {"type": kind, "title": title, "body": body})


def _workflow(session: BrowserSession, automation_id: str) -> str:
    asked = {
        "title": "Tower clock repair",
        "charter": "The clock strikes again before the winter market opens.",
        "kpis": [{"name": "Parts delivered", "target": 12, "current": 7, "unit": "parts"}],
        "deadlines": [{"label": "Winter market", "date": "2026-12-01"}],
        "automation_ids": [automation_id],
        "timezone": "Europe/Berlin",
        "make_board": True,
    }
    return str(session.ask("POST", "/workflows", asked)["id"])


def _people(session: BrowserSession) -> None:
    session.ask("POST", "/invitations", {"email": "noor@example.org", "role": "editor"})
    session.ask("POST", "/tokens", {"name": "Laptop", "role": "editor"})
    session.ask("POST", "/secrets", {"name": "forge_key", "value": "not-shown-again"})


def _proposal(session: BrowserSession) -> str:
    text = "every weekday at 9 Berlin time remind me to plan the day"
    asked = {"text": text, "by": "rules", "timezone": "Europe/Berlin"}
    return str(session.ask("POST", "/proposals", asked)["proposal_id"])
