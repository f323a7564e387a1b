"""A proposal as the service tells it, for tests of how it is shown."""

from __future__ import annotations

from typing import Any

ID = "0190c7a0-0000-7000-8000-000000000001"
DIGEST = "7f" * 32
CHANNEL: dict[str, Any] = {
    "id": "channel",
    "kind": "value",
    "pointer": "/plan/1/config/channel",
    "question": "Which channel?",
    "why": "A post needs one.",
    "schema": {"type": "string", "minLength": 1},
    "choices": [{"label": "#standup", "value": "#standup"}, {"label": "#ops", "value": "#ops"}],
    "others": [],
}
ZONE: dict[str, Any] = {
    **CHANNEL,
    "id": "zone",
    "kind": "time_zone",
    "pointer": "/triggers/0/config/timezone",
    "question": "Which time zone?",
    "why": "",
    "choices": [],
}


def proposal(**other: Any) -> dict[str, Any]:
    """One that is ready, unless it is said otherwise."""
    return {
        "proposal_id": ID,
        "status": "ready",
        "revision": 1,
        "digest": DIGEST,
        "request": "every weekday at 9 summarise new pages and post them to #standup",
        "automation_id": None,
        "base_version": None,
        "created_at": "2026-11-15T09:00:00+00:00",
        "expires_at": "2026-11-22T09:00:00+00:00",
        "url": f"http://127.0.0.1:8420/proposals/{ID}",
        "saved_as": None,
        "definition": {
            "schema_version": "1.2",
            "name": "Standup digest",
            "triggers": [{"id": "s", "type": "schedule", "config": {"cron": "0 9 * * 1-5"}}],
            "plan": [
                {"step_id": "think", "action": "agent_task", "config": {"prompt_template": "x"}},
                {"step_id": "post", "action": "slack_post", "config": {"channel": "#standup"}},
            ],
        },
        "questions": [],
        "problems": [],
        "notes": ["Assumed: at 9 is 09:00.", "Not understood: pretty please."],
        "made_by": {
            "by": "rules",
            "note": "No model was used.",
            "model": None,
            "rounds": 0,
            "refused": [],
            "cost_usd": "0",
        },
        "talk": [{"by": "person", "text": "every weekday at 9 …"}],
        "review": review(),
        **other,
    }


def review(**other: Any) -> dict[str, Any]:
    summary = "On weekdays at 09:00 it asks a model and posts to Slack after approval."
    return {
        "summary": summary,
        "explained": [
            summary,
            "1. It asks a model.",
            "1.1. It posts to #standup.",
            "A run may spend $1.",
        ],
        "flags": [
            {
                "pointer": "/plan/0/config/prompt_template",
                "code": "commands",
                "text": "It reads like an order.",
                "level": "warning",
                "by": "rules",
                "suggestion": "Say it as a task.",
            },
            {"pointer": "", "code": "x", "text": "All is new.", "level": "note", "by": "model"},
        ],
        "impact": {
            "outside": [
                {"system": "Slack", "hosts": ["slack.com"], "why": ["post"], "effect": "send"}
            ],
            "grants": [],
            "keeps": [{"kind": "page", "what": "“Report”", "why": ["write"]}],
            "secrets": [{"name": "SLACK", "hosts": ["slack.com"], "capabilities": ["slack_post"]}],
            "wakes": [],
            "people": [{"capability": "slack_post", "label": "Post to Slack", "why": ["post"]}],
        },
        "forecast": {"sentence": "About $1.10 a month.", "notes": ["The cap is near."]},
        "overlaps": {
            "similarity_by": "words",
            "matches": [
                {
                    "automation_id": ID,
                    "name": "Old digest",
                    "state": "active",
                    "how": "alike",
                    "admin_url": "http://127.0.0.1:8420/automations/1",
                }
            ],
        },
        "change": None,
        "reviewed_by": {
            "by": "rules",
            "model": None,
            "note": "Rules made this review; no model was asked.",
        },
        **other,
    }
