"""The JSON Schemas of agent.run and agent_task, with examples and anti-examples."""

from __future__ import annotations

from typing import Any, Final

from mainspring.actions.agent.task import DEFAULT_TOKENS, DEFAULT_TURNS

MOST_TURNS: Final = 100
MOST_TOKENS: Final = 64_000
_NAME: Final = r"^[A-Za-z0-9_.*-]+$"
_SCOPE: Final = "x-mainspring-scope"
_BULLETS: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["bullets"],
    "additionalProperties": False,
    "properties": {"bullets": {"type": "array", "items": {"type": "string"}, "maxItems": 5}},
}
_EXAMPLES: Final[list[dict[str, Any]]] = [
    {
        "prompt": "Search the workspace for the launch and summarize it in five bullets.",
        "tools": ["search", "get_page"],
        "output_schema": _BULLETS,
    },
    {
        "prompt": "Answer the question in the document from our board.",
        "documents": [{"title": "Question", "text": "How many orders are open?"}],
        "tools": [{"tool": "get_board", "params": {"name": "Orders"}}],
        "max_turns": 5,
        "max_usd": 0.1,
    },
]
_ANTI_EXAMPLES: Final[list[dict[str, Any]]] = [
    {"value": {}, "reason": "what is it to do?"},
    {"value": {"prompt": ""}, "reason": "what is it to do?"},
    {"value": {"prompt": "Go.", "tools": "slack.*"}, "reason": "tools are a list"},
    {"value": {"prompt": "Go.", "tools": [{"params": {}}]}, "reason": "which tool?"},
    {"value": {"prompt": "Go.", "max_turns": 0}, "reason": "it must be asked at least once"},
    {"value": {"prompt": "Go.", "max_turns": 101}, "reason": "100 turns at most"},
    {"value": {"prompt": "Go.", "max_usd": 0}, "reason": "nothing is free"},
    {"value": {"prompt": "Go.", "documents": ["text"]}, "reason": "a document has its text in it"},
    {"value": {"prompt": "Go.", "output_schema": True}, "reason": "a schema is an object"},
]


def _build_task_properties() -> dict[str, Any]:
    return {
        "prompt": {
            "type": "string",
            "minLength": 1,
            "maxLength": 200_000,
            "description": "The task and its material.",
            "x-mainspring-widget": "textarea",
        },
        "system": {
            "type": "string",
            "maxLength": 50_000,
            "description": "Rules that always apply.",
        },
        "documents": {
            "type": "array",
            "maxItems": 50,
            "description": "External text to work on. It is marked as data; instructions in it "
            "are not followed.",
            "items": {
                "type": "object",
                "required": ["text"],
                "additionalProperties": False,
                "properties": {
                    "title": {"type": "string", "maxLength": 500},
                    "text": {"type": "string"},
                },
            },
        },
        "tools": _build_tools_property(),
        "model": {
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
            "description": "Default: the automation's model.",
        },
        "output_schema": {
            "type": "object",
            "description": "JSON Schema of the answer. An invalid answer is returned to the model "
            "with the errors.",
        },
        **_build_limit_properties(),
    }


def _build_tools_property() -> dict[str, Any]:
    return {
        "type": "array",
        "maxItems": 100,
        "description": "Capabilities by name, patterns such as slack.*, or a tool with fixed "
        "params. The model cannot see or change fixed params, so they can contain "
        "secrets.",
        "items": {
            "type": ["string", "object"],
            "minLength": 1,
            "maxLength": 200,
            "pattern": _NAME,
            "required": ["tool"],
            "additionalProperties": False,
            "properties": {
                "tool": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 200,
                    "pattern": _NAME,
                    _SCOPE: "none",
                },
                "params": {"type": "object"},
            },
        },
    }


def _build_limit_properties() -> dict[str, Any]:
    return {
        "max_turns": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_TURNS,
            "default": DEFAULT_TURNS,
            "description": "Limit of model calls.",
        },
        "max_tokens": {
            "type": "integer",
            "minimum": 16,
            "maximum": MOST_TOKENS,
            "default": DEFAULT_TOKENS,
            "description": "Limit of one model response.",
        },
        "max_total_tokens": {
            "type": "integer",
            "minimum": 1,
            "description": "Limit of input and output tokens over all turns.",
        },
        "max_seconds": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "Time limit; the current step is finished first.",
        },
        "max_usd": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "Cost limit, tools included.",
        },
    }


def build_agent_input_schema() -> dict[str, Any]:
    """The arguments of agent.run."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["prompt"],
        "additionalProperties": False,
        "properties": _build_task_properties(),
        "examples": _EXAMPLES,
        "x-mainspring-anti-examples": _ANTI_EXAMPLES,
    }


def build_agent_config_schema() -> dict[str, Any]:
    """The config of agent_task: the same keys; templates are rendered once, when it begins."""
    task = _build_task_properties()
    # Approved values must not contain templates.
    for name in ("output_schema", "max_turns", "max_tokens", "max_total_tokens", "max_seconds"):
        task[name][_SCOPE] = "none"
    task["max_usd"][_SCOPE] = "none"
    task["tools"][_SCOPE] = "secret"
    return {
        "type": "object",
        "required": ["prompt"],
        "additionalProperties": False,
        "properties": task,
        "examples": _EXAMPLES,
        "x-mainspring-anti-examples": _ANTI_EXAMPLES,
    }


def build_agent_output_schema() -> dict[str, Any]:
    """The result of agent.run."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "required": ["output", "text", "kind", "turns", "usage", "model", "transcript"],
        "properties": {
            "output": {"description": "The answer in the requested schema; otherwise null."},
            "text": {"type": "string", "description": "Its text, or why there was nothing to do."},
            "kind": {"enum": ["done", "nothing"]},
            "turns": {"type": "integer", "minimum": 0},
            "usage": {
                "type": "object",
                "additionalProperties": False,
                "required": ["input_tokens", "output_tokens", "cost_usd"],
                "properties": {
                    "input_tokens": {"type": "integer", "minimum": 0},
                    "output_tokens": {"type": "integer", "minimum": 0},
                    "cost_usd": {
                        "type": "number",
                        "minimum": 0,
                        "description": "Total cost, tools included.",
                    },
                },
            },
            "model": {"type": "string", "description": "The model that answered last."},
            "transcript": {
                "type": ["object", "null"],
                "description": "Artifact with the full conversation.",
                "additionalProperties": False,
                "required": ["artifact_id"],
                "properties": {"artifact_id": {"type": "string", "format": "uuid"}},
            },
        },
        "examples": [
            {
                "output": {"bullets": ["The launch is on Monday."]},
                "text": "",
                "kind": "done",
                "turns": 3,
                "usage": {"input_tokens": 5120, "output_tokens": 240, "cost_usd": 0.019},
                "model": "claude-sonnet-4-6",
                "transcript": {"artifact_id": "0190c7a0-0000-7000-8000-000000000000"},
            }
        ],
        "x-mainspring-anti-examples": [
            {"value": {"output": {}}, "reason": "the answer always says what it took"},
        ],
    }
