"""Saved prompts: bundled examples, and the workspace's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.authoring.phrases.normalization import LONGEST
from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
)
from mainspring.contracts.object_schema import build_object_part, build_object_schema
from mainspring.contracts.toolset import Toolset
from mainspring.workspace.prompts import delete_prompt, list_prompts, save_prompt

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

STARTERS: Final[tuple[tuple[str, str], ...]] = (
    (
        "Morning digest",
        (
            "Every weekday at 9 summarise the pages that are new since the last time in five "
            "bullets and post them to #standup on Slack"
        ),
    ),
    (
        "Failed builds",
        (
            "When our CI calls the webhook, explain in two sentences what broke and post it to "
            "#builds on Slack"
        ),
    ),
    (
        "New files",
        "When a document comes in, write a short summary of it and leave me a message in the inbox",
    ),
    (
        "Weekly report",
        (
            "Every Friday at 4pm read the Orders board, write a report of the week as a page, and "
            "mail it to me"
        ),
    ),
    ("Reminder", "On the last working day of the month at 10 remind me to send the invoices"),
    ("Is it up", "Every 15 minutes check https://example.com and tell me when it fails"),
    (
        "After a failure",
        "When the automation Morning digest fails, push me a short message on Telegram",
    ),
)
_ID: Final = {"type": "string", "format": "uuid"}
_SOME_ID: Final = "0190c7a0-0000-7000-8000-000000000000"
_NAME: Final = {"type": "string", "minLength": 1, "maxLength": 200}
_TEXT: Final = {"type": "string", "minLength": 1, "maxLength": LONGEST}
_MOMENT: Final = {"type": "string", "format": "date-time"}
_PROMPT: Final = {
    "id": _ID,
    "name": _NAME,
    "text": _TEXT,
    "created_at": _MOMENT,
    "updated_at": _MOMENT,
}
_SOME: Final = {
    "id": _SOME_ID,
    "name": "Digest",
    "text": "every weekday at 9 summarise new pages",
    "created_at": "2026-11-15T09:00:00+00:00",
    "updated_at": "2026-11-15T09:00:00+00:00",
}
_KEEPS: Final = Annotations(
    toolset=Toolset.AUTHORING,
    effect=Effect.KEEP,
    transactional=True,
    seconds=0.1,
    audience=Audience.PEOPLE,
)
_READS: Final = Annotations(
    toolset=Toolset.AUTHORING,
    effect=Effect.READ,
    transactional=True,
    seconds=0.1,
    audience=Audience.PEOPLE,
)


def prompt_capabilities() -> tuple[Capability, ...]:
    """Build the capabilities to save, list and delete prompts."""
    return (
        build_capability(
            "save_prompt",
            "Save a prompt for reuse",
            "Replaces a saved prompt of the same name.",
            build_object_schema(
                {"name": _NAME, "text": _TEXT},
                ["name", "text"],
                [{"name": _SOME["name"], "text": _SOME["text"]}],
                [({"name": "Digest"}, "which words?"), ({"name": "", "text": "x"}, "no name")],
            ),
            build_object_schema(
                _PROMPT, list(_PROMPT), [_SOME], [({"id": _SOME_ID}, "its words?")]
            ),
            _keep,
            _KEEPS,
        ),
        build_capability(
            "list_prompts",
            "List saved prompts",
            "Returns those of the workspace and the built-in ones.",
            build_object_schema({}, [], [{}], [({"name": "x"}, "nothing is asked")]),
            build_object_schema(
                {
                    "prompts": {"type": "array", "items": build_object_part(_PROMPT)},
                    "starters": {
                        "type": "array",
                        "items": build_object_part({"name": _NAME, "text": _TEXT}),
                    },
                },
                ["prompts", "starters"],
                [{"prompts": [_SOME], "starters": [{"name": "Reminder", "text": "every day"}]}],
                [({"prompts": []}, "starters are always told")],
            ),
            _list,
            _READS,
        ),
        build_capability(
            "forget_prompt",
            "Delete a saved prompt",
            "Automations made from it stay.",
            build_object_schema({"id": _ID}, ["id"], [{"id": _SOME_ID}], [({}, "which one?")]),
            build_object_schema({"id": _ID}, ["id"], [{"id": _SOME_ID}], [({}, "which one?")]),
            _forget,
            _KEEPS,
        ),
    )


async def _keep(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    actor = ctx.actor
    name, text = arguments["name"], arguments["text"]
    return _describe_prompt(await save_prompt(ctx.tx, actor.workspace_id, actor.id, name, text))


async def _list(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    del arguments
    kept = await list_prompts(ctx.tx, ctx.actor.workspace_id)
    return {
        "prompts": [_describe_prompt(one) for one in kept],
        "starters": [{"name": name, "text": text} for name, text in STARTERS],
    }


async def _forget(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    await delete_prompt(ctx.tx, ctx.actor.workspace_id, UUID(arguments["id"]))
    return {"id": arguments["id"]}


def _describe_prompt(row: Mapping[str, Any]) -> dict[str, Any]:
    moments = {name: row[name].isoformat() for name in ("created_at", "updated_at")}
    return {"id": str(row["id"]), "name": row["name"], "text": row["text"], **moments}
