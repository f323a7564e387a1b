"""Schemas of the capabilities for halts and workers."""

from __future__ import annotations

from typing import Any, Final

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_SOME_ID: Final = "01900000-0000-7000-8000-0000000000b1"
_SOME_AUTOMATION: Final = "01900000-0000-7000-8000-0000000000a1"
_ID: Final[dict[str, Any]] = {"type": "string", "format": "uuid"}
_MAYBE_ID: Final[dict[str, Any]] = {"type": ["string", "null"], "format": "uuid"}
_MOMENT: Final[dict[str, Any]] = {"type": "string", "format": "date-time"}
_SCOPE: Final[dict[str, Any]] = {
    "enum": ["workspace", "automation", "recipe"],
    "description": "The whole workspace, one automation, or everything installed from a recipe.",
}
_RECIPE: Final[dict[str, Any]] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 100,
    "description": "For scope recipe: its slug.",
}
_AUTOMATION: Final[dict[str, Any]] = {
    **_ID,
    "description": "For scope automation.",
}
_REASON: Final[dict[str, Any]] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 300,
    "pattern": r"\S",
    "description": "Shown to everyone who sees the halt.",
}
_CANCEL: Final[dict[str, Any]] = {
    "type": "boolean",
    "default": False,
    "description": "Cancel current runs instead of holding them. Later runs are still held.",
}
_COUNT: Final[dict[str, Any]] = {"type": "integer", "minimum": 0}
_HALT: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["halt_id", "scope", "reason", "everywhere", "halted_at", "held", "under_way"],
    "properties": {
        "halt_id": _ID,
        "scope": _SCOPE,
        "automation_id": _MAYBE_ID,
        "automation": {"type": ["string", "null"], "description": "Its name."},
        "recipe": {"type": ["string", "null"]},
        "everywhere": {
            "type": "boolean",
            "description": "An administrator halted it in every workspace.",
        },
        "reason": {"type": "string"},
        "halted_by": {"type": ["string", "null"], "description": "Email address of the person."},
        "halted_at": _MOMENT,
        "held": {
            **_COUNT,
            "description": "Held runs, due or queued; 1,000 means at least that many.",
        },
        "under_way": {**_COUNT, "description": "Runs that a worker has not returned yet."},
    },
}
_SOME_HALT: Final[dict[str, Any]] = {
    "halt_id": _SOME_ID,
    "scope": "automation",
    "automation_id": _SOME_AUTOMATION,
    "automation": "Daily digest",
    "recipe": None,
    "everywhere": False,
    "reason": "It writes to the wrong list.",
    "halted_by": "ada@example.com",
    "halted_at": "2026-01-01T00:00:00+00:00",
    "held": 3,
    "under_way": 0,
}


def _object(
    properties: dict[str, Any], required: list[str], examples: list[Any], *wrong: tuple[Any, str]
) -> dict[str, Any]:
    return {
        "$schema": _DIALECT,
        "type": "object",
        "additionalProperties": False,
        "required": required,
        "properties": properties,
        "examples": examples,
        "x-mainspring-anti-examples": [
            {"value": value, "reason": reason} for value, reason in wrong
        ],
    }


HALT: Final = _object(
    {
        "scope": _SCOPE,
        "automation_id": _AUTOMATION,
        "recipe": _RECIPE,
        "reason": _REASON,
        "cancel": _CANCEL,
    },
    ["scope", "reason"],
    [
        {"scope": "recipe", "recipe": "daily-digest", "reason": "Its mails are wrong."},
        {"scope": "workspace", "reason": "Something writes where it should not."},
        {
            "scope": "automation",
            "automation_id": _SOME_AUTOMATION,
            "reason": "It writes to the wrong list.",
            "cancel": True,
        },
    ],
    ({"scope": "workspace"}, "a halt needs a reason"),
    ({"scope": "everything", "reason": "stop"}, "that is called workspace"),
    ({"scope": "workspace", "reason": " "}, "a blank says nothing"),
)
HALTED: Final = _object(
    {
        "halt": _HALT,
        "cancelled": {**_COUNT, "description": "Cancelled runs."},
        "says": {"type": "string"},
    },
    ["halt", "cancelled", "says"],
    [{"halt": _SOME_HALT, "cancelled": 0, "says": "It is halted; 3 runs are held."}],
    ({"says": "done"}, "it must say what is halted"),
)
RELEASE: Final = _object(
    {"scope": _SCOPE, "automation_id": _AUTOMATION, "recipe": _RECIPE},
    ["scope"],
    [
        {"scope": "workspace"},
        {"scope": "automation", "automation_id": _SOME_AUTOMATION},
        {"scope": "recipe", "recipe": "daily-digest"},
    ],
    ({}, "what is to go on?"),
    ({"scope": "all"}, "that is called workspace"),
)
RELEASED: Final = _object(
    {
        "back": {**_COUNT, "description": "Runs that are queued again."},
        "says": {"type": "string"},
    },
    ["back", "says"],
    [{"back": 3, "says": "It goes on; 3 runs are back in the queue."}],
    ({"says": "done"}, "it must say how many go on"),
)
NOTHING: Final = _object({}, [], [{}], ({"limit": 1}, "there are never many"))
HALTS: Final = _object(
    {"halts": {"type": "array", "items": _HALT}},
    ["halts"],
    [{"halts": [_SOME_HALT]}, {"halts": []}],
    ({}, "also none is a list"),
)
HALT_RECIPE: Final = _object(
    {"recipe": _RECIPE, "reason": _REASON, "cancel": _CANCEL},
    ["recipe", "reason"],
    [{"recipe": "daily-digest", "reason": "Its mails are wrong."}],
    ({"recipe": "daily-digest"}, "a halt needs a reason"),
)
RELEASE_RECIPE: Final = _object(
    {"recipe": _RECIPE}, ["recipe"], [{"recipe": "daily-digest"}], ({}, "which recipe?")
)

_WORKER: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["worker_id", "name", "queues", "slots", "in_flight", "started_at", "lease_until"],
    "properties": {
        "worker_id": {"type": "integer"},
        "name": {"type": "string"},
        "host": {"type": ["string", "null"]},
        "process": {"type": ["integer", "null"]},
        "queues": {"type": "array", "items": {"type": "string"}},
        "slots": {**_COUNT, "description": "Concurrent runs it can execute."},
        "in_flight": {**_COUNT, "description": "Runs in progress at the last heartbeat."},
        "started_at": _MOMENT,
        "lease_until": _MOMENT,
        "drain_at": {
            "type": ["string", "null"],
            "format": "date-time",
            "description": "When draining began; null: not draining.",
        },
    },
}
_SOME_WORKER: Final[dict[str, Any]] = {
    "worker_id": 7,
    "name": "worker-1/4711",
    "host": "worker-1",
    "process": 4711,
    "queues": ["fast", "medium", "long"],
    "slots": 256,
    "in_flight": 12,
    "started_at": "2026-01-01T00:00:00+00:00",
    "lease_until": "2026-01-01T00:05:00+00:00",
    "drain_at": None,
}
_QUEUE: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": [
        "queue",
        "due_runs",
        "oldest_seconds",
        "in_flight",
        "held_runs",
        "slots",
        "workers",
    ],
    "properties": {
        "queue": {"enum": ["fast", "medium", "long"]},
        "due_runs": {
            **_COUNT,
            "description": "Due and not claimed; 100,000 means at least that many.",
        },
        "oldest_seconds": {"type": "number", "description": "Age of the oldest due run."},
        "in_flight": {**_COUNT, "description": "Runs in progress."},
        "held_runs": {**_COUNT, "description": "Runs held by a halt."},
        "slots": {**_COUNT, "description": "Concurrent runs that its workers can execute."},
        "workers": {**_COUNT, "description": "Workers that claim from it and are not draining."},
    },
}
_SOME_QUEUE: Final[dict[str, Any]] = {
    "queue": "fast",
    "due_runs": 40,
    "oldest_seconds": 1.5,
    "in_flight": 12,
    "held_runs": 0,
    "slots": 256,
    "workers": 1,
}
WORKERS: Final = _object(
    {
        "workers": {"type": "array", "items": _WORKER},
        "queues": {"type": "array", "items": _QUEUE},
    },
    ["workers", "queues"],
    [{"workers": [_SOME_WORKER], "queues": [_SOME_QUEUE]}],
    ({"workers": []}, "the numbers of the queues belong to it"),
)
DRAIN: Final = _object(
    {
        "worker": {
            "type": "string",
            "minLength": 1,
            "maxLength": 300,
            "description": "Name or number of one worker.",
        },
        "host": {
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "description": "All workers of this machine.",
        },
    },
    [],
    [{"worker": "worker-1/4711"}, {"host": "worker-1"}],
    ({"worker": ""}, "which one?"),
    ({"hosts": ["worker-1"]}, "one machine at a time"),
)
DRAINED: Final = _object(
    {"workers": {"type": "array", "items": _WORKER}, "says": {"type": "string"}},
    ["workers", "says"],
    [{"workers": [_SOME_WORKER], "says": "worker-1/4711 takes nothing new and leaves."}],
    ({"says": "done"}, "it must say which leave"),
)
