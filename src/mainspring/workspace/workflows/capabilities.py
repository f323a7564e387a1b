"""The workflow capabilities, shared by all callers.

Creating and switching workflows and changing their members is for people and their clients, because
it creates and activates automations. A run may read a workflow and report a KPI.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    CapabilityHandler,
    build_capability,
)
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.workspace.boards.schemas import ID, KEEPS, NUMBER, READS, schema_with_examples
from mainspring.workspace.workflows import management, progress, schemas, status
from mainspring.workspace.workflows.repository import MOST_LISTED

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.workspace.workflows.automations import WorkflowDependencies

_ID: Final = {"workflow_id": schemas.WORKFLOW_ID}
_SOME: Final = {"workflow_id": schemas.SOME_WORKFLOW}
_TIE: Final = {**_ID, "automation_id": schemas.AUTOMATION_ID}
_SOME_TIE: Final = {**_SOME, "automation_id": schemas.SOME_AUTOMATION}
_IDS: Final = {"type": "array", "items": ID}


def _get_workflow_id(arguments: Mapping[str, Any], answered: Any) -> str | None:
    """Return the workflow id from the arguments or the result."""
    told = answered if isinstance(answered, Mapping) else {}
    return arguments.get("workflow_id") or told.get("workflow_id") or told.get("id")


_READS: Final = replace(READS, toolset=Toolset.WORKFLOWS, subject=_get_workflow_id)
_KEEPS: Final = replace(
    KEEPS, toolset=Toolset.WORKFLOWS, subject=_get_workflow_id, audience=Audience.PEOPLE
)
_SWITCHES: Final = replace(_KEEPS, permission=Permission.SWITCH)
_REPORTS: Final[Annotations] = replace(KEEPS, toolset=Toolset.WORKFLOWS, subject=_get_workflow_id)


def workflow_capabilities(dependencies: WorkflowDependencies) -> tuple[Capability, ...]:
    """Build the workflow capabilities."""
    return (
        _create(dependencies),
        _get(),
        _list(),
        _update(dependencies),
        _build_kpi_capability(),
        _build_status_capability(dependencies),
        _delete(dependencies),
        *_build_attach_capabilities(dependencies),
    )


def _create(dependencies: WorkflowDependencies) -> Capability:
    async def create(ctx: CallContext, given: Mapping[str, Any]) -> Any:
        return await management.create(ctx, dependencies, given)

    kpi = schemas.SOME_KPI
    takes = schema_with_examples(
        {
            **schemas.FIELDS,
            "status": {"enum": ["draft", "active", "paused"], "default": "draft"},
            "board_id": {
                "description": "An existing board. Default: a new one.",
                **ID,
            },
            "make_board": {
                "description": "false: no board.",
                "type": "boolean",
                "default": True,
            },
        },
        ["title"],
        [
            {"title": "Launch"},
            {
                "title": "Launch",
                "charter": "Bring it to the first hundred customers.",
                "kpis": [kpi],
                "deadlines": [{"label": "Beta", "date": "2026-03-31"}],
                "roster": [{"user_id": schemas.SOME_PERSON, "role": "owner"}],
                "status": "active",
                "templates": ["progress_scorer", "task_nudger"],
            },
        ],
        ({}, "a workflow has a title"),
        ({"title": "x", "kpis": [{"name": "n", "target": "many"}]}, "a target is a number"),
        ({"title": "x", "kpis": [{"name": "n"}]}, "a KPI has a target"),
        ({"title": "x", "deadlines": [{"label": "b", "date": "soon"}]}, "a day, as in 2026-03-31"),
        ({"title": "x", "status": "archived"}, "it is put aside later"),
        ({"title": "x", "templates": ["scorer"]}, "there is no such template"),
        ({"title": "x", "roster": [{"user_id": schemas.SOME_PERSON}]}, "as what?"),
    )
    return build_capability(
        "create_workflow",
        "Create a workflow",
        "Groups KPIs, deadlines, people, a board and automations. You become the owner unless the "
        "roster names one. A draft starts nothing; status active also activates its automations.",
        takes,
        schemas.build_workflow_schema(waiting=True),
        create,
        _KEEPS,
    )


def _get() -> Capability:
    takes = schema_with_examples(
        {
            **_ID,
            "standing": {
                "description": "Include progress: KPIs over time, deadlines of this and next "
                "week, tasks of its board.",
                "type": "boolean",
                "default": False,
            },
            "timezone": schemas.DAYS_IN,
        },
        ["workflow_id"],
        [_SOME, {**_SOME, "standing": True, "timezone": "Europe/Berlin"}],
        ({}, "which workflow?"),
        ({"workflow_id": "Launch"}, "an id, not a title"),
    )
    return build_capability(
        "get_workflow",
        "Get a workflow",
        "Returns its KPIs, deadlines, people, board and automations, and its progress on request.",
        takes,
        schemas.build_workflow_schema(standing=True),
        progress.get,
        _READS,
    )


def _list() -> Capability:
    takes = schema_with_examples(
        {
            "status": {**schemas.STATUS},
            "limit": {**NUMBER, "maximum": MOST_LISTED, "default": progress.DEFAULT_LISTED},
            "after": {"description": "next of the previous page.", **ID},
        },
        [],
        [{}, {"status": "active", "limit": 20}],
        ({"status": "done"}, "no such status"),
        ({"limit": 0}, "at least one"),
    )
    entry = {
        key: value
        for key, value in schemas.build_workflow_schema().items()
        if not key.startswith(("$", "x-"))
    }
    entry.pop("examples")
    answers = schema_with_examples(
        {
            "workflows": {"type": "array", "items": entry},
            "next": {"type": ["string", "null"]},
        },
        ["workflows", "next"],
        [{"workflows": [schemas.SOME_TOLD], "next": None}],
        ({"workflows": []}, "the end is said by next being null"),
    )
    return build_capability(
        "list_workflows",
        "List workflows",
        "Oldest first. Continue at next.",
        takes,
        answers,
        progress.list_workflows_handler,
        _READS,
    )


def _update(dependencies: WorkflowDependencies) -> Capability:
    async def update(ctx: CallContext, given: Mapping[str, Any]) -> Any:
        return await management.update(ctx, dependencies, given)

    takes = schema_with_examples(
        {
            **_ID,
            **schemas.FIELDS,
            "board_id": {
                "description": "Another board; null: none.",
                "type": ["string", "null"],
                "format": "uuid",
            },
            "expected_version": {
                "description": "Refused if it changed since this version.",
                **NUMBER,
            },
        },
        ["workflow_id"],
        [
            {**_SOME, "charter": "Two hundred customers.", "expected_version": 1},
            {**_SOME, "kpis": [{**schemas.SOME_KPI, "current": 20}]},
        ],
        ({"title": "Launch"}, "which workflow?"),
        (_SOME, "nothing changes"),
        ({**_SOME, "status": "active"}, "set_workflow_status switches it"),
        ({**_SOME, "kpis": [{"name": "n", "target": 1, "current": "2"}]}, "a number, no text"),
        minProperties=2,
    )
    return build_capability(
        "update_workflow",
        "Update a workflow",
        "Changes the given fields. KPIs, deadlines, roster and automation_ids are replaced as a "
        "whole; a KPI without a current value keeps its own. Templates are added. Only owners of "
        "the workflow and admins can change the roster.",
        takes,
        schemas.build_workflow_schema(waiting=True),
        update,
        _KEEPS,
    )


def _build_kpi_capability() -> Capability:
    fields = {**_ID, "name": schemas.KPI_NAME, "current": schemas.CURRENT}
    some = {**_SOME, "name": "Paying customers", "current": 20}
    takes = schema_with_examples(
        fields,
        list(fields),
        [some],
        ({**some, "current": "20"}, "a number, without quotes"),
        (_SOME, "which KPI, and what is it now?"),
    )
    answers = schema_with_examples(
        {**fields, "target": {"type": "number"}},
        [*fields, "target"],
        [{**some, "target": 100}],
        (some, "it must say what it is to become"),
    )
    return build_capability(
        "set_workflow_kpi",
        "Set the current value of a KPI",
        "Changes one KPI of a workflow and nothing else.",
        takes,
        answers,
        management.set_kpi,
        _REPORTS,
    )


def _build_status_capability(dependencies: WorkflowDependencies) -> Capability:
    async def set_status(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        return await status.set_status(ctx, dependencies, arguments)

    takes = schema_with_examples(
        {**_ID, "status": schemas.STATUS},
        ["workflow_id", "status"],
        [{**_SOME, "status": "paused"}],
        ({**_SOME, "status": "stopped"}, "no such status"),
        (_SOME, "which status?"),
    )
    answers = schema_with_examples(
        {
            **_ID,
            "before": schemas.STATUS,
            "status": schemas.STATUS,
            "activated": _IDS,
            "paused": _IDS,
            "waiting": schemas.WAITING,
        },
        ["workflow_id", "before", "status", "activated", "paused", "waiting"],
        [
            {
                **_SOME,
                "before": "active",
                "status": "paused",
                "activated": [],
                "paused": [schemas.SOME_AUTOMATION],
                "waiting": [],
            }
        ],
        ({"status": "paused"}, "of which workflow?"),
    )
    return build_capability(
        "set_workflow_status",
        "Set the status of a workflow",
        "active activates its automations; draft, paused and archived pause them. Automations "
        "that a person paused stay paused; those that wait for consent are listed.",
        takes,
        answers,
        set_status,
        _SWITCHES,
    )


def _delete(dependencies: WorkflowDependencies) -> Capability:
    async def delete(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        return await status.delete(ctx, dependencies, arguments)

    takes = schema_with_examples(
        {
            **_ID,
            "delete_board": {
                "description": "Also archive its board.",
                "type": "boolean",
                "default": False,
            },
        },
        ["workflow_id"],
        [_SOME, {**_SOME, "delete_board": True}],
        ({"title": "Launch"}, "a title may mean several"),
    )
    answers = schema_with_examples(
        {
            **_ID,
            "deleted": {"const": True},
            "automations_archived": _IDS,
            "automations_kept": {
                "description": "Those that are also in another workflow.",
                **_IDS,
            },
            "board_id": {"type": ["string", "null"]},
            "board_archived": {"type": "boolean"},
        },
        ["workflow_id", "deleted", "automations_archived", "automations_kept", "board_archived"],
        [
            {
                **_SOME,
                "deleted": True,
                "automations_archived": [schemas.SOME_AUTOMATION],
                "automations_kept": [],
                "board_id": schemas.SOME_BOARD,
                "board_archived": False,
            }
        ],
        ({}, "it must say which workflow"),
    )
    return build_capability(
        "delete_workflow",
        "Delete a workflow",
        "Archives its automations, which can be restored. Its board stays unless you ask to "
        "archive it.",
        takes,
        answers,
        delete,
        _KEEPS,
    )


def _build_attach_capabilities(dependencies: WorkflowDependencies) -> tuple[Capability, ...]:
    async def attach(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        return await status.attach_one(ctx, dependencies, arguments)

    return (
        _build_attach_capability(
            "attach_automation",
            "Attach an automation to a workflow",
            "It then starts and pauses with the workflow.",
            attach,
        ),
        _build_attach_capability(
            "detach_automation",
            "Detach an automation from a workflow",
            "Its state does not change; the workflow no longer controls it.",
            status.detach_one,
        ),
    )


def _build_attach_capability(
    name: str, label: str, text: str, handler: CapabilityHandler
) -> Capability:
    takes = schema_with_examples(
        _TIE,
        list(_TIE),
        [_SOME_TIE],
        (_SOME, "which automation?"),
        ({**_SOME_TIE, "automation_id": "Digest"}, "an id, not a name"),
    )
    return build_capability(
        name, label, text, takes, schemas.build_workflow_schema(), handler, _KEEPS
    )
