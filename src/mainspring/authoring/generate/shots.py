"""Requests and what was handed in for them, as a model is shown them before its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class FewShotExample:
    """A request and a good answer to it, with what makes it good."""

    request: str
    shows: str
    handed_in: dict[str, Any]


_DIGEST: Final = FewShotExample(
    "every weekday at 9 Berlin time summarise new competitor pages and post five bullets to "
    "#standup",
    "A plain step reads, the agent thinks once with one tool, a plain step acts; nothing runs "
    "when there is nothing new. The workspace has no secret for Slack, so the token is asked for.",
    {
        "definition": {
            "name": "Competitor bullets",
            "goal": "Post the news about competitors to #standup on weekday mornings.",
            "inputs": {
                "schema": {
                    "type": "object",
                    "required": ["since"],
                    "properties": {
                        "since": {
                            "type": "string",
                            "format": "date-time",
                            "default": "$last_fired_at",
                        }
                    },
                }
            },
            "triggers": [
                {
                    "id": "weekday-mornings",
                    "type": "schedule",
                    "config": {"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"},
                }
            ],
            "plan": [
                {
                    "step_id": "find",
                    "action": "list_pages",
                    "config": {"type": "competitor", "ingested_after": "{{ inputs.since }}"},
                },
                {
                    "step_id": "summarise",
                    "action": "agent_task",
                    "when": "{{ find.pages | length > 0 }}",
                    "config": {
                        "prompt": "Read these pages and say what is new in five short bullets: "
                        "{{ find.pages | join(', ', attribute='slug') }}",
                        "tools": ["get_page"],
                        "output_schema": {
                            "type": "object",
                            "required": ["bullets"],
                            "additionalProperties": False,
                            "properties": {
                                "bullets": {
                                    "type": "array",
                                    "items": {"type": "string"},
                                    "minItems": 1,
                                    "maxItems": 5,
                                }
                            },
                        },
                        "max_turns": 15,
                        "max_usd": 0.3,
                    },
                },
                {
                    "step_id": "post",
                    "action": "slack_post",
                    "when": "{{ find.pages | length > 0 }}",
                    "config": {
                        "channel": "#standup",
                        "text": "• {{ summarise.bullets | join('\n• ') }}",
                    },
                },
            ],
            "execution": {"budget_cap_usd": "0.50", "cost_cap_daily_usd": "0.50"},
        },
        "questions": [
            {
                "pointer": "/plan/2/config/token",
                "question": "Which secret holds the token of the Slack bot?",
            }
        ],
        "notes": ["Pages of the type competitor are taken for competitor pages."],
    },
)
_BUILD: Final = FewShotExample(
    "when our CI calls, leave me a message if the build on main failed",
    "No agent: nothing here has to be thought about. The body of the call becomes inputs.",
    {
        "definition": {
            "name": "Broken builds",
            "goal": "Say when a build on main has failed.",
            "inputs": {
                "schema": {
                    "type": "object",
                    "required": ["branch", "status"],
                    "properties": {"branch": {"type": "string"}, "status": {"type": "string"}},
                }
            },
            "triggers": [
                {
                    "id": "ci",
                    "type": "webhook",
                    "config": {"input_mapping": {"branch": "$.branch", "status": "$.status"}},
                }
            ],
            "plan": [
                {
                    "step_id": "tell",
                    "action": "notification",
                    "when": "{{ inputs.branch == 'main' and inputs.status == 'failed' }}",
                    "config": {"title": "The build on main failed", "level": "error"},
                }
            ],
            "execution": {"budget_cap_usd": "0.01", "cost_cap_daily_usd": "0.10"},
        },
        "questions": [],
        "notes": ["The call is taken to have branch and status at the top of its body."],
    },
)
_INVOICES: Final = FewShotExample(
    "whenever an invoice comes in, note vendor, amount and due date on the Invoices board",
    "The text of the page is a document for the agent, so that it is data and no order; the agent "
    "has no tools. list_resources told the id of the board and its columns.",
    {
        "definition": {
            "name": "Invoices to the board",
            "goal": "Keep vendor, amount and due date of every invoice on a board.",
            "triggers": [
                {
                    "id": "invoice-arrives",
                    "type": "page_ingested",
                    "config": {"page_type": "invoice", "created": True},
                }
            ],
            "plan": [
                {
                    "step_id": "page",
                    "action": "get_page",
                    "config": {"slug": "{{ trigger.slug }}", "include": ["body"]},
                },
                {
                    "step_id": "read",
                    "action": "agent_task",
                    "config": {
                        "prompt": "Find the vendor, the amount with its currency and the due date "
                        "of the invoice in the document. Use null for what it does not say.",
                        "documents": [{"title": "Invoice", "text": "{{ page.body }}"}],
                        "output_schema": {
                            "type": "object",
                            "required": ["vendor", "amount", "due"],
                            "additionalProperties": False,
                            "properties": {
                                "vendor": {"type": ["string", "null"]},
                                "amount": {"type": ["string", "null"]},
                                "due": {"type": ["string", "null"]},
                            },
                        },
                        "max_turns": 3,
                        "max_usd": 0.05,
                    },
                },
                {
                    "step_id": "note",
                    "action": "append_board_rows",
                    "config": {
                        "board_id": "01900000-0000-7000-8000-00000000000b",
                        "rows": [
                            {
                                "slug": "{{ trigger.slug }}",
                                "vendor": "{{ read.vendor }}",
                                "amount": "{{ read.amount }}",
                                "due": "{{ read.due }}",
                            }
                        ],
                        "dedupe_key_field": "slug",
                    },
                },
            ],
            "execution": {"budget_cap_usd": "0.10", "cost_cap_daily_usd": "1"},
            "writes": {
                "boards": ["01900000-0000-7000-8000-00000000000b"],
                "dedupe_key_field": "slug",
            },
        },
        "questions": [],
        "notes": [],
    },
)

SHOTS: Final = (_DIGEST, _BUILD, _INVOICES)
