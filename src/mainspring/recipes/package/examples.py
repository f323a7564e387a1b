"""Recipes as they should be: one of each kind, small enough to read. They are tests as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class RecipeExample:
    """A recipe that is taken, and what it shows."""

    reason: str
    document: dict[str, Any]


def _build_example(
    slug: str, kind: str, name: str, description: str, **more: Any
) -> dict[str, Any]:
    return {
        "format": "mainspring.recipe",
        "format_version": 1,
        "slug": slug,
        "version": "1.0.0",
        "kind": kind,
        "name": name,
        "description": description,
        "publisher": "Example",
        "category": "operations",
        **more,
    }


_BOARD: Final = _build_example(
    "uptime-board",
    "board",
    "Uptime",
    "A board with one row for each check.",
    template={
        "name": "Uptime",
        "datasets": [
            {
                "name": "checks",
                "columns": [
                    {"key": "at", "field_type": "date"},
                    {"key": "state", "field_type": "select", "options": ["up", "down"]},
                ],
                "dedupe_key_field": "at",
            }
        ],
        "rows": {"checks": [{"at": "2026-01-31", "state": "up"}]},
    },
)

_AUTOMATION: Final = _build_example(
    "uptime-check",
    "automation",
    "Uptime check",
    "Asks a site every ten minutes whether it is there, and notes the answer on a board.",
    tags=["uptime"],
    dependencies=[
        {
            "slug": "uptime-board",
            "min_version": "1.0.0",
            "reason": "Where the answers are kept.",
            "as": "board",
        }
    ],
    grants=[
        {"capability": "append_board_rows", "params": {"board_id": "{{ install.board.id }}"}},
        {"capability": "http_fetch", "params": {"hosts": ["{{ install.settings.site }}"]}},
    ],
    hosts=["{{ install.settings.site }}"],
    settings=[
        {
            "name": "site",
            "label": "The host to ask",
            "type": "string",
            "example": "status.example.com",
        }
    ],
    examples=[{"name": "a good day", "inputs": {}, "says": "One row is added."}],
    template={
        "definition": {
            "schema_version": "1.2",
            "name": "Uptime check",
            "goal": "Note whether the site is there.",
            "triggers": [
                {"type": "schedule", "config": {"cron": "*/10 * * * *", "timezone": "UTC"}}
            ],
            "plan": [
                {
                    "step_id": "ask",
                    "action": "http_fetch",
                    "config": {"url": "https://{{ install.settings.site }}/health"},
                },
                {
                    "step_id": "note",
                    "action": "append_board_rows",
                    "config": {
                        "board_id": "{{ install.board.id }}",
                        "dataset": "checks",
                        "rows": [{"at": "{{ run.started_at }}", "state": "up"}],
                    },
                },
            ],
            "grants": [
                {
                    "capability": "append_board_rows",
                    "params": {"board_id": "{{ install.board.id }}"},
                },
                {
                    "capability": "http_fetch",
                    "params": {"hosts": ["{{ install.settings.site }}"]},
                },
            ],
        }
    },
)

_WORKFLOW: Final = _build_example(
    "stay-up",
    "workflow",
    "Stay up",
    "Ninety-nine days of a hundred, and a look at it each quarter.",
    dependencies=[
        {"slug": "uptime-board", "min_version": "1.0.0"},
        {"slug": "uptime-check", "min_version": "1.0.0"},
    ],
    template={
        "title": "Stay up",
        "charter": "The site is there when people come.",
        "kpis": [],
        "deadlines": [],
        "board": "uptime-board",
        "automations": ["uptime-check", "progress_scorer"],
    },
)

_INTEGRATION: Final = _build_example(
    "coin-prices",
    "integration",
    "Prices of coins",
    "Keeps a page for each of ten coins, every hour.",
    requires={
        "publisher_secrets": [{"name": "PRICES_KEY", "reason": "The list is read with a key."}]
    },
    grants=[
        {
            "capability": "ingest_from_endpoint",
            "params": {
                "hosts": ["prices.example.com"],
                "method": "GET",
                "url": "https://prices.example.com/latest?limit=10",
            },
        }
    ],
    hosts=["prices.example.com"],
    template={
        "auth": {"type": "api_key", "header": "X-Key", "secret_name": "PRICES_KEY"},
        "trigger": {"kind": "cron", "cron": "0 * * * *"},
        "endpoints": [
            {
                "op": "snapshot",
                "method": "GET",
                "url": "https://prices.example.com/latest?limit=10",
                "headers": {"X-Key": "{{publisher.PRICES_KEY}}"},
            }
        ],
        "mapping": {
            "iterate": "$.data[*]",
            "page_type": "coin",
            "source_ref_prefix": "coin:",
            "source_ref": "{{symbol}}@{{last_updated}}",
            "title": "{{name}}",
            "frontmatter": {"symbol": "{{symbol}}"},
        },
    },
)

_BUNDLE: Final = _build_example(
    "uptime",
    "bundle",
    "Everything about uptime",
    "The board, the check and the workflow, installed together.",
    template={
        "members": [
            {"slug": "uptime-board", "min_version": "1.0.0"},
            {"slug": "uptime-check", "min_version": "1.0.0"},
            {"slug": "stay-up", "min_version": "1.0.0", "reason": "Somebody looks at it."},
        ]
    },
)

EXAMPLES: Final[tuple[RecipeExample, ...]] = (
    RecipeExample("a board with columns and a first row", _BOARD),
    RecipeExample("an automation with a dependency and a setting", _AUTOMATION),
    RecipeExample("a workflow over a board and an automation", _WORKFLOW),
    RecipeExample("an integration that is only declared", _INTEGRATION),
    RecipeExample("a bundle of the others", _BUNDLE),
)
