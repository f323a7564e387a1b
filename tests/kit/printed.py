"""Definitions and recipes as the documents that people know them from print them."""

from __future__ import annotations

from typing import Any, Final

# The digest of the first format. Only the comment in on_failure is left out: JSON has none.
DIGEST: Final[dict[str, Any]] = {
    "schema_version": "1.0",
    "name": "Daily competitor digest",
    "goal": "Summarize new competitor content and post to Slack",
    "inputs": {
        "schema": {
            "type": "object",
            "required": ["since"],
            "properties": {
                "since": {"type": "string", "format": "date-time", "default": "$last_fired_at"},
                "tags": {
                    "type": "array",
                    "items": {"type": "string"},
                    "default": ["competitor"],
                },
            },
        }
    },
    "triggers": [
        {"type": "schedule", "config": {"cron": "0 9 * * 1-5", "timezone": "Africa/Kigali"}}
    ],
    "plan": [
        {
            "step_id": "research",
            "action": "agent_task",
            "config": {
                "prompt": "Find documents tagged {{inputs.tags}} indexed since {{inputs.since}}. "
                "Return JSON with bullets and source_doc_ids.",
                "tools": ["search_space.query", "search_space.fetch_document"],
                "model": "anthropic/claude-sonnet-4-7",
                "output_schema": {
                    "type": "object",
                    "required": ["bullets", "source_doc_ids"],
                    "properties": {
                        "bullets": {"type": "array", "items": {"type": "string"}},
                        "source_doc_ids": {"type": "array", "items": {"type": "string"}},
                    },
                },
            },
            "output_as": "summary",
        },
        {
            "step_id": "deliver",
            "action": "slack_post",
            "config": {
                "channel_id": "C0123",
                "message_template": "*Competitor digest*\n\n"
                "{% for b in summary.bullets %}• {{b}}\n{% endfor %}",
            },
        },
    ],
    "execution": {
        "timeout_seconds": 600,
        "max_retries": 2,
        "retry_backoff": "exponential",
        "concurrency": "drop_if_running",
        "budget_cap_usd": 1.50,
        "on_failure": [],
    },
    "metadata": {"tags": ["digest"], "created_from_nl": True},
}
