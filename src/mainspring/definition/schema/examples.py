"""Example definitions that are accepted, each showing one feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class DefinitionExample:
    """A definition that is accepted, and the feature it shows."""

    shows: str
    document: dict[str, Any]


def _definition(name: str, goal: str, *plan: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"schema_version": "1.2", "name": name, "goal": goal, "plan": list(plan), **more}


def _inputs(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"schema": {"type": "object", "required": required, "properties": properties}}


_HELLO: Final = _definition(
    "Hello",
    "Show that a definition runs.",
    {
        "step_id": "greet",
        "action": "transform_data",
        "config": {"output": {"text": "Hello from {{ run.automation_name }}"}},
    },
)

_WATCH: Final = _definition(
    "Status watch",
    "Check a status page on weekday mornings and report when it is down.",
    {
        "step_id": "look",
        "action": "http_fetch",
        "config": {
            "url": "https://status.example.com/api/{{ inputs.component }}",
            "headers": {"Authorization": "Bearer {{ secrets.status_key }}"},
            "allow_error_status": True,
        },
        "output_as": "answer",
        "max_retries": 4,
        "retry_backoff": "linear",
        "timeout_seconds": 20,
    },
    {
        "step_id": "tell",
        "action": "notification",
        "when": "{{ not answer.ok }}",
        "config": {
            "title": "{{ inputs.component }} is not well",
            "message_template": "It answered {{ answer.status }}.",
            "level": "warning",
        },
    },
    inputs=_inputs(["component"], component={"type": "string", "default": "api"}),
    triggers=[
        {
            "id": "weekday-mornings",
            "type": "schedule",
            "config": {
                "cron": "0 9 * * 1-5",
                "timezone": "Africa/Kigali",
                "misfire": "skip",
                "catch_up_seconds": 600,
            },
            "inputs": {"component": "checkout"},
        }
    ],
    execution={"timeout_seconds": 120, "concurrency": "drop_if_running", "budget_cap_usd": "0.10"},
    metadata={"tags": ["operations"], "created_from_nl": True, "ticket": 4711},
)

_WEBHOOK: Final = _definition(
    "Build finished",
    "Keep the last build of each branch and tell a board about broken ones.",
    {
        "step_id": "keep",
        "action": "automation_kv.set",
        "config": {"key": "build/{{ inputs.branch }}", "value": "{{ inputs.status }}"},
    },
    {
        "step_id": "report",
        "action": "callback_webhook",
        "when": "inputs.status != 'passed'",
        "config": {
            "url": "https://board.example.com/hooks/builds",
            "headers": {"X-Token": "{{ secrets.board_token }}"},
            "body": {"branch": "{{ inputs.branch }}", "run": "{{ run.id }}"},
        },
        "approval": "automatic",
    },
    inputs=_inputs(
        ["branch", "status"],
        branch={"type": "string", "minLength": 1},
        status={"enum": ["passed", "failed", "cancelled"]},
    ),
    triggers=[
        {
            "id": "ci",
            "type": "webhook",
            "config": {"input_mapping": {"branch": "$.build.branch", "status": "$.build.result"}},
        }
    ],
    execution={"concurrency": "queue", "concurrency_key": "{{ inputs.branch }}"},
)

_EVENT: Final = _definition(
    "New invoices",
    "Note every PDF that arrives in the invoice folder.",
    {
        "step_id": "note",
        "action": "notification",
        "config": {"title": "New invoice: {{ trigger.name }}"},
    },
    triggers=[
        {
            "type": "event",
            "config": {
                "event_type": "drive.file_added",
                "filters": {"name": {"ends_with": ".pdf"}, "folder": "invoices"},
            },
        }
    ],
)

_CHAIN: Final = _definition(
    "After the import",
    "Count the rows once the nightly import has succeeded.",
    {"step_id": "count", "action": "automation_kv.get", "config": {"key": "rows", "default": 0}},
    triggers=[
        {
            "type": "event",
            "config": {
                "event_type": "automation.run.succeeded",
                "filters": {"automation_name": {"equals": "Nightly import"}},
            },
        }
    ],
)

_LOOP: Final = _definition(
    "Greet everyone",
    "Build one greeting per name and keep them together.",
    {
        "step_id": "greetings",
        "action": "for_each",
        "config": {
            "items": "{{ inputs.names }}",
            "as": "name",
            "steps": [
                {
                    "step_id": "line",
                    "action": "transform_data",
                    "config": {"output": "{{ index + 1 }}. Hello {{ name }}"},
                },
                {
                    "step_id": "remember",
                    "action": "automation_kv.set",
                    "when": "{{ name | length > 3 }}",
                    "config": {"key": "greeted/{{ name }}", "value": "{{ line }}"},
                },
            ],
        },
    },
    {
        "step_id": "done",
        "action": "transform_data",
        "config": {"output": "{{ steps.greetings.results | length }} greetings"},
    },
    inputs=_inputs(["names"], names={"type": "array", "items": {"type": "string"}}),
)

_FAILURE: Final = _definition(
    "Careful fetch",
    "Fetch a page and say what went wrong when it cannot be had.",
    {"step_id": "fetch", "action": "http_fetch", "config": {"url": "https://example.com/page"}},
    execution={
        "max_retries": 0,
        "retry_backoff": "none",
        "on_failure": [
            {
                "step_id": "alarm",
                "action": "notification",
                "config": {
                    "title": "{{ run.failed_step_id }} failed",
                    "message_template": "{{ run.error.detail }}",
                    "level": "error",
                },
            }
        ],
    },
)

_GRANTED: Final = _definition(
    "Any mirror",
    "Fetch from the mirror that the caller names, among those we trust.",
    {
        "step_id": "fetch",
        "action": "http_fetch",
        "config": {"url": "https://{{ inputs.mirror }}/list.json", "method": "GET"},
    },
    inputs=_inputs(["mirror"], mirror={"type": "string"}),
    grants=[
        {
            "capability": "http_fetch",
            "params": {"hosts": ["eu.mirror.example", "us.mirror.example:8443"], "method": "GET"},
        }
    ],
)

_PATIENT: Final = _definition(
    "Reminder",
    "Remind the team a day after a request.",
    {"step_id": "sleep", "action": "delay", "config": {"seconds": 86_400}},
    {
        "step_id": "remind",
        "action": "notification",
        "config": {"title": "Reminder", "message_template": "{{ inputs.about }}"},
    },
    inputs=_inputs(["about"], about={"type": "string", "maxLength": 200}),
    retention={"runs_days": 7},
)

_WINDOW: Final = _definition(
    "Since last time",
    "Read what changed since the previous firing.",
    {
        "step_id": "read",
        "action": "http_fetch",
        "config": {
            "url": "https://api.example.com/changes",
            "query": {"since": "{{ inputs.since }}"},
        },
    },
    inputs=_inputs(
        ["since"],
        since={"type": "string", "format": "date-time", "default": "$last_fired_at"},
        limit={"type": "integer", "minimum": 1, "default": 50},
    ),
    triggers=[{"type": "schedule", "config": {"cron": "@hourly", "timezone": "UTC"}}],
)

_BOUNDED: Final = _definition(
    "Every bound",
    "Set every bound that a run can have.",
    {
        "step_id": "nothing",
        "action": "transform_data",
        "config": {"output": None},
        "budget_cap_usd": "0.50",
    },
    description="Each value here differs from the default.",
    intent="Show me all the knobs.",
    execution={
        "timeout_seconds": 86_400,
        "max_retries": 10,
        "retry_backoff": "linear",
        "concurrency": "allow_parallel",
        "budget_cap_usd": 2.5,
        "cost_cap_daily_usd": 100,
        "max_llm_tokens": 2_000_000,
        "write_policy": "auto_confirm_safe",
    },
)

_GUARDED: Final = _definition(
    "Optional note",
    "Add a note when there is one.",
    {
        "step_id": "look_up",
        "action": "automation_kv.get",
        "when": "inputs.key is defined",
        "config": {"key": "{{ inputs.key }}"},
        "output_as": "note",
    },
    {
        "step_id": "text",
        "action": "transform_data",
        "config": {"output": "Note: {{ note.value | default('none') }}"},
    },
    inputs=_inputs([], key={"type": "string", "minLength": 1}),
)

_TWO_TRIGGERS: Final = _definition(
    "Twice a day",
    "Run in the morning for one region and in the evening for another.",
    {
        "step_id": "say",
        "action": "transform_data",
        "config": {"output": {"region": "{{ inputs.region }}"}},
    },
    inputs=_inputs(["region"], region={"enum": ["north", "south"]}),
    triggers=[
        {
            "id": "morning",
            "type": "schedule",
            "config": {"cron": "30 7 * * *", "timezone": "Europe/Berlin"},
            "inputs": {"region": "north"},
        },
        {
            "id": "evening",
            "type": "schedule",
            "config": {"cron": "30 19 * * *", "timezone": "Europe/Berlin"},
            "inputs": {"region": "south"},
            "enabled": False,
        },
    ],
)

EXAMPLES: Final[tuple[DefinitionExample, ...]] = (
    DefinitionExample("the smallest definition", _HELLO),
    DefinitionExample("a schedule, a secret, a condition and retries of one step", _WATCH),
    DefinitionExample(
        "a webhook whose body is mapped to inputs, and runs that wait per branch", _WEBHOOK
    ),
    DefinitionExample("an event with a filter", _EVENT),
    DefinitionExample("following the runs of another automation", _CHAIN),
    DefinitionExample("steps for every item of a list", _LOOP),
    DefinitionExample("what happens after a failure", _FAILURE),
    DefinitionExample("written grants for a host that an expression decides", _GRANTED),
    DefinitionExample("a run that waits, and history kept for a week", _PATIENT),
    DefinitionExample("an input that defaults to the previous firing", _WINDOW),
    DefinitionExample("every bound of a run", _BOUNDED),
    DefinitionExample("an optional input, and an output that may be missing", _GUARDED),
    DefinitionExample("two triggers with inputs of their own, one of them disabled", _TWO_TRIGGERS),
)
