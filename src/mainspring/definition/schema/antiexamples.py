"""Definitions that are rejected, each with the expected finding.

Each one is a valid definition with a single change, so that the finding is about that change alone.
``schema`` says whether the published schema already rejects it; the validator always does.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

# An anti-example: a valid document, one change, and the finding that follows.

# Used in place of a value to remove the key.
ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class AntiExample:
    """A document that is rejected, with the reason and the finding."""

    reason: str
    document: Any
    pointer: str
    code: str
    # Whether the published schema alone rejects it.
    schema: bool


def change_document(document: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    """The document with one value set or removed."""
    made = deepcopy(document)
    *path, last = place.strip("/").split("/")
    target: Any = made
    for part in path:
        target = target[int(part)] if isinstance(target, list) else target[part]
    key: Any = int(last) if isinstance(target, list) else last
    if value is ABSENT:
        del target[key]
    elif isinstance(target, list) and key == len(target):
        target.append(value)
    else:
        target[key] = value
    return made


_GOOD: Final[dict[str, Any]] = {
    "schema_version": "1.2",
    "name": "Digest",
    "goal": "Read, shape, tell.",
    "inputs": {
        "schema": {
            "type": "object",
            "required": ["topic"],
            "properties": {
                "topic": {"type": "string", "default": "news"},
                "limit": {"type": "integer", "minimum": 1, "default": 10},
            },
        }
    },
    "triggers": [
        {"id": "daily", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}},
        {"id": "hook", "type": "webhook", "config": {"input_mapping": {"topic": "$.topic"}}},
        {
            "id": "done",
            "type": "event",
            "config": {
                "event_type": "automation.run.succeeded",
                "filters": {"automation_name": "Import"},
            },
        },
    ],
    "plan": [
        {
            "step_id": "read",
            "action": "http_fetch",
            "config": {"url": "https://news.example.com/{{ inputs.topic }}"},
        },
        {
            "step_id": "shape",
            "action": "transform_data",
            "output_as": "rows",
            "config": {"output": "{{ steps.read.json }}"},
        },
        {
            "step_id": "each",
            "action": "for_each",
            "config": {
                "items": "{{ rows }}",
                "as": "row",
                "steps": [
                    {
                        "step_id": "keep",
                        "action": "automation_kv.set",
                        "config": {"key": "{{ row.id }}", "value": "{{ row }}"},
                    },
                ],
            },
        },
        {
            "step_id": "tell",
            "action": "notification",
            "when": "{{ rows | length > 0 }}",
            "config": {"title": "Digest", "message_template": "{{ rows | length }} rows"},
        },
    ],
    "execution": {
        "timeout_seconds": 600,
        "on_failure": [
            {"step_id": "alarm", "action": "notification", "config": {"title": "Failed"}},
        ],
    },
}

# The grants that the valid definition needs, written out.
_GRANTS: Final[list[dict[str, Any]]] = [
    {"capability": "http_fetch", "params": {"hosts": ["news.example.com"]}},
    {"capability": "automation_kv.set"},
    {"capability": "inbox.post_notification"},
]


def _change_good_definition(place: str, value: Any) -> dict[str, Any]:
    return change_document(_GOOD, place, value)


def _shape(reason: str, place: str, value: Any, code: str, pointer: str = "") -> AntiExample:
    return AntiExample(
        reason, _change_good_definition(place, value), pointer or place, code, schema=True
    )


def _sense(reason: str, place: str, value: Any, code: str, pointer: str = "") -> AntiExample:
    return AntiExample(
        reason, _change_good_definition(place, value), pointer or place, code, schema=False
    )


def _step(step_id: str, action: str, **config: Any) -> dict[str, Any]:
    return {"step_id": step_id, "action": action, "config": config}


_ENVELOPE: Final = (
    AntiExample("a definition is an object", [], "", "type", schema=True),
    _shape("the version is missing", "/schema_version", ABSENT, "required"),
    _shape("a version that does not exist", "/schema_version", "7.0", "unknown_version"),
    _shape("a version is text", "/schema_version", 1.1, "unknown_version"),
    _shape("a name has at least one character", "/name", "", "min_length"),
    _shape("a name has at most 200 characters", "/name", "x" * 201, "max_length"),
    _shape("the goal is missing", "/goal", ABSENT, "required"),
    _shape("a misspelt key is not ignored", "/metdata", {}, "additional_properties"),
    _shape("a key that only the store may set", "/workspace_id", "x", "additional_properties"),
    _shape("a plan does something", "/plan", [], "min_items"),
    _shape("a plan is a list", "/plan", {"read": {}}, "type"),
    _shape("a step is an object", "/plan/0", "http_fetch", "type"),
    _shape("a step has an id", "/plan/0/step_id", ABSENT, "required"),
    _shape("step ids are written in small letters", "/plan/3/step_id", "Tell", "pattern"),
    _shape("a step names an action", "/plan/0/action", ABSENT, "required"),
    _shape("a condition is text", "/plan/3/when", True, "type"),
    _shape("a number is not written as text", "/execution/timeout_seconds", "600", "type"),
    _shape("true is not a number", "/execution/max_retries", True, "type"),
    _shape("at most ten retries", "/execution/max_retries", 11, "maximum"),
    _shape("a run takes at least a second", "/execution/timeout_seconds", 0, "minimum"),
    _shape("three ways to pause, no more", "/execution/retry_backoff", "random", "enum"),
    _shape("three policies, no more", "/execution/concurrency", "drop", "enum"),
    _shape("nothing is sent without a policy", "/execution/write_policy", "never_ask", "enum"),
    _shape("money is not negative", "/execution/budget_cap_usd", -1, "money"),
    _shape("money is not a word", "/execution/budget_cap_usd", "a lot", "money"),
    _shape("a step's money is money too", "/plan/0/budget_cap_usd", "a lot", "money"),
    _shape("two approval modes, no more", "/plan/0/approval", "always", "approval"),
    _shape("at most 100 USD a day", "/execution/cost_cap_daily_usd", 101, "money"),
    _shape(
        "a failure is not handled twice",
        "/execution/on_failure/0/on_failure",
        [],
        "additional_properties",
    ),
    _shape("three kinds of triggers, no more", "/triggers/0/type", "cron", "enum"),
    _shape(
        "history is kept for at least a day",
        "/retention",
        {"runs_days": 0},
        "minimum",
        "/retention/runs_days",
    ),
    _shape(
        "a grant names a capability",
        "/grants",
        [*_GRANTS, {"params": {}}],
        "required",
        "/grants/3/capability",
    ),
)

_MEANING: Final = (
    _sense(
        "a read has nothing to approve", "/plan/0/approval", "automatic", "approval_without_write"
    ),
    _sense("two steps with one id", "/plan/1/step_id", "read", "duplicate_step_id"),
    _sense(
        "a nested step with the id of another",
        "/plan/2/config/steps/0/step_id",
        "tell",
        "duplicate_step_id",
        "/plan/3/step_id",
    ),
    _sense("an output with the name of a step", "/plan/3/output_as", "read", "duplicate_output"),
    _sense("an output with a name of the language", "/plan/3/output_as", "inputs", "reserved_name"),
    _sense("two triggers with one id", "/triggers/1/id", "daily", "duplicate_trigger_id"),
    _sense("an unknown action", "/plan/0/action", "http_fetsch", "unknown_action"),
    _sense("a config without what it needs", "/plan/3/config/title", ABSENT, "required"),
    _sense("a config with a key too many", "/plan/3/config/colour", "red", "additional_properties"),
    _sense(
        "a config with a value of the wrong type", "/plan/0/config/timeout_seconds", "soon", "type"
    ),
    _sense(
        "text around an expression is no number",
        "/plan/0/config/timeout_seconds",
        "{{ inputs.limit }} s",
        "type",
    ),
    _sense(
        "a nested step with an unknown key",
        "/plan/2/config/steps/0/wehn",
        "true",
        "additional_properties",
    ),
    _sense("a template that does not end", "/plan/3/config/title", "{{ rows", "template_syntax"),
    _sense(
        "a filter that does not exist",
        "/plan/3/config/title",
        "{{ rows | shout }}",
        "template_unknown_filter",
    ),
    _sense("a name that nothing has", "/plan/3/config/title", "{{ row.id }}", "unknown_variable"),
    _sense(
        "an undeclared input",
        "/plan/0/config/url",
        "https://a.example/{{ inputs.x }}",
        "unknown_input",
    ),
    _sense(
        "a step that runs later",
        "/plan/0/config/url",
        "https://a.example/{{ steps.tell.id }}",
        "forward_reference",
    ),
    _sense(
        "a step that is not there",
        "/plan/1/config/output",
        "{{ steps.reed }}",
        "unknown_step_output",
    ),
    _sense(
        "a field that an answer does not have",
        "/plan/1/config/output",
        "{{ steps.read.body }}",
        "unknown_field",
    ),
    _sense(
        "an output that stays in its loop",
        "/plan/3/config/title",
        "{{ steps.keep }}",
        "nested_output",
    ),
    _sense("a value no run has", "/plan/3/config/title", "{{ run.name }}", "unknown_run_value"),
    _sense(
        "an error where nothing failed",
        "/plan/3/config/title",
        "{{ run.error.code }}",
        "only_on_failure",
    ),
    _sense(
        "a secret in a text that is shown",
        "/plan/3/config/title",
        "{{ secrets.key }}",
        "template_secret",
    ),
    _sense("a condition that is never true", "/plan/3/when", "{{ false }}", "unreachable_step"),
    _sense(
        "a condition about nothing known", "/plan/3/when", "colour == 'red'", "unknown_variable"
    ),
    _sense(
        "a host that an expression decides",
        "/plan/0/config/url",
        "https://{{ inputs.topic }}/",
        "host_unknown",
    ),
    _sense(
        "grants that forget a host",
        "/grants",
        [*_GRANTS[1:], {"capability": "http_fetch", "params": {"hosts": ["a.example"]}}],
        "not_granted",
        "/plan/0/action",
    ),
    _sense(
        "a grant for administrators",
        "/grants",
        [*_GRANTS, {"capability": "admin_reset"}],
        "never_granted",
        "/grants/3/capability",
    ),
    _sense(
        "a grant for nothing there is",
        "/grants",
        [*_GRANTS, {"capability": "mail.send"}],
        "unknown_capability",
        "/grants/3/capability",
    ),
    _sense(
        "a grant for every host",
        "/grants",
        [*_GRANTS, {"capability": "http_fetch"}],
        "hosts_missing",
        "/grants/3/params",
    ),
    _sense(
        "a grant for an address instead of a host",
        "/grants",
        [*_GRANTS, {"capability": "http_fetch", "params": {"hosts": ["https://a.example/"]}}],
        "bad_host",
        "/grants/3/params/hosts/0",
    ),
    _sense(
        "a bound on an argument that is not there",
        "/grants",
        [*_GRANTS, {"capability": "automation_kv.get", "params": {"keys": ["a"]}}],
        "unknown_argument",
        "/grants/3/params/keys",
    ),
    _sense(
        "a grant whose bound the step leaves",
        "/grants",
        [
            *_GRANTS[:1],
            *_GRANTS[2:],
            {"capability": "automation_kv.set", "params": {"value": 1, "if_absent": True}},
        ],
        "not_granted",
        "/plan/2/config/steps/0/action",
    ),
    _sense(
        "a loop too deep",
        "/plan/2/config/steps/0",
        _step(
            "a",
            "for_each",
            items=[1],
            steps=[
                _step("b", "for_each", items=[1], steps=[_step("c", "transform_data", output=1)])
            ],
        ),
        "nested_too_deeply",
        "/plan/2/config/steps/0/config/steps/0",
    ),
    _sense("a cron of six fields", "/triggers/0/config/cron", "0 0 9 * * *", "cron_fields"),
    _sense("a day that does not exist", "/triggers/0/config/cron", "0 0 30 2 *", "cron_never"),
    _sense("a zone that does not exist", "/triggers/0/config/timezone", "Mars/Base", "format"),
    _sense("a schedule without a zone", "/triggers/0/config/timezone", ABSENT, "required"),
    _sense(
        "a path that cannot be read",
        "/triggers/1/config/input_mapping/topic",
        "topic",
        "path_syntax",
    ),
    _sense(
        "a mapping to no input",
        "/triggers/1/config/input_mapping/topik",
        "$.topic",
        "unknown_input",
    ),
    _sense(
        "a fixed input of the wrong type",
        "/triggers/0/inputs",
        {"limit": "ten"},
        "type",
        "/triggers/0/inputs/limit",
    ),
    _sense(
        "an operator that does not exist",
        "/triggers/2/config/filters",
        {"name": {"like": "x"}},
        "filter_operator",
        "/triggers/2/config/filters/name/like",
    ),
    _sense("a trigger on its own runs", "/triggers/2/config/filters", ABSENT, "self_subscription"),
    _sense(
        "a filter that lets its own runs pass",
        "/triggers/2/config/filters",
        {"automation_name": "Digest"},
        "self_subscription",
    ),
    _sense(
        "a default that its schema refuses", "/inputs/schema/properties/limit/default", 0, "minimum"
    ),
    _sense("a schema that is none", "/inputs/schema/properties/limit/type", "int", "enum"),
    _sense(
        "inputs that are a list",
        "/inputs/schema",
        {"type": "array"},
        "inputs_not_an_object",
        "/inputs/schema/type",
    ),
    _sense(
        "a required input that a clock cannot give",
        "/inputs/schema/properties/topic",
        {"type": "string"},
        "missing_input",
        "/triggers/0/inputs",
    ),
)

ANTI_EXAMPLES: Final[tuple[AntiExample, ...]] = (*_ENVELOPE, *_MEANING)
