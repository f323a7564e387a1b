"""Export and import capabilities for people and their tokens, not for runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    CapabilityHandler,
    Effect,
)
from mainspring.contracts.errors import TooLarge
from mainspring.contracts.object_schema import build_object_part, build_object_schema
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.recipes.carrying.exporter import WorkspaceExport, list_export_notes
from mainspring.recipes.carrying.importer import WorkspaceImport
from mainspring.recipes.carrying.workspace_files import (
    LONGEST_PATH,
    MARKER,
    MOST_FILES,
    read_files,
    to_files,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.workspace.workflows.automations import WorkflowDependencies

JsonSchema = dict[str, Any]

_SOME_MARKER: Final = '{\n  "format": "mainspring.workspace",\n  "needs": {},\n  "version": 1\n}\n'
_SOME_FILES: Final = {MARKER: _SOME_MARKER}
_FILES: Final[JsonSchema] = {
    "description": "File texts by path, such as automations/report.json.",
    "type": "object",
    "maxProperties": MOST_FILES,
    "propertyNames": {"maxLength": LONGEST_PATH},
    "additionalProperties": {"type": "string"},
}
_TEXT: Final[JsonSchema] = {"type": "string"}
_MAYBE: Final[JsonSchema] = {"type": ["string", "null"]}
_NOTE: Final = build_object_part(
    {"pointer": _TEXT, "detail": _TEXT, "code": _TEXT, "suggestion": _TEXT},
    ["pointer", "detail", "code"],
)
_THING: Final = build_object_part(
    {
        "kind": {"enum": ["board", "automation", "workflow", "prompt"]},
        "name": _TEXT,
        "path": _TEXT,
        "what": {"enum": ["made", "unchanged", "changed", "renamed"]},
        "id": {"description": "Its id here; null: it does not exist yet.", **_MAYBE},
        "renamed_from": _MAYBE,
        "consent_id": {"description": "The consent that an automation waits for.", **_MAYBE},
    }
)
_COUNT: Final[JsonSchema] = {"type": "integer", "minimum": 0}
_ROWS: Final = build_object_part(
    {
        "board": _TEXT,
        "path": _TEXT,
        "dataset": _TEXT,
        "added": {"description": "Added rows.", **_COUNT},
        "unchanged": {"description": "Identical rows.", **_COUNT},
        "left": {"description": "Skipped rows; left says why.", **_COUNT},
    }
)
_SOME_ROWS: Final = {
    "board": "CRM",
    "path": "boards/crm/rows/default.jsonl",
    "dataset": "default",
    "added": 2,
    "unchanged": 10,
    "left": 0,
}
_SOME_THING: Final = {
    "kind": "automation",
    "name": "Weekly report",
    "path": "automations/weekly-report.json",
    "what": "made",
    "id": "01900000-0000-7000-8000-00000000000a",
    "renamed_from": None,
    "consent_id": "01900000-0000-7000-8000-00000000000d",
}


def carrying_capabilities(dependencies: WorkflowDependencies) -> tuple[Capability, ...]:
    """Build the export and import capabilities."""
    return (_export(dependencies), _import(dependencies))


def _export(dependencies: WorkflowDependencies) -> Capability:
    return Capability(
        id="export_workspace",
        description="Export the workspace as files\n\n"
        "Returns automations, boards, workflows and saved prompts that are not "
        "archived as files for Git. Ids become references and secrets become names. "
        "notes lists what is not portable. Rows are included on request only.",
        input_schema=build_object_schema(
            {
                "rows": {
                    "description": "Include board rows.",
                    "type": "boolean",
                    "default": False,
                }
            },
            (),
            [{}, {"rows": True}],
            [({"rows": "all"}, "yes or no"), ({"folder": "x"}, "files are answered, not written")],
        ),
        output_schema=build_object_schema(
            {"files": _FILES, "notes": {"type": "array", "items": _NOTE}},
            ("files", "notes"),
            [{"files": _SOME_FILES, "notes": []}],
            [({"notes": []}, "where are the files?")],
        ),
        handler=_build_export_handler(dependencies),
        annotations=Annotations(
            toolset=Toolset.RECIPES,
            effect=Effect.READ,
            transactional=True,
            seconds=1.0,
            audience=Audience.PEOPLE,
            permission=Permission.EDIT,
        ),
    )


def _import(dependencies: WorkflowDependencies) -> Capability:
    return Capability(
        id="import_workspace",
        description="Import a workspace from files\n\n"
        "Takes the files of export_workspace. Validates everything first, then stores "
        "all or nothing. Automations are paused until a person consents. Identical "
        "items are skipped; on_clash decides about different ones. Rows are only "
        "added: existing and deleted keys are skipped. Problems are reported as "
        "file#/pointer.",
        input_schema=build_object_schema(
            {
                "files": _FILES,
                "on_clash": {
                    "description": "What to do if the name is taken by a different item.",
                    "enum": ["refuse", "new_version", "rename"],
                    "default": "refuse",
                },
                "dry_run": {
                    "description": "Return what would happen and store nothing.",
                    "type": "boolean",
                    "default": False,
                },
            },
            ("files",),
            [{"files": _SOME_FILES}, {"files": _SOME_FILES, "dry_run": True}],
            [
                ({}, "which files?"),
                ({"files": {MARKER: {}}}, "a file is text"),
                ({"files": _SOME_FILES, "on_clash": "overwrite"}, "there is no such way"),
            ],
        ),
        output_schema=build_object_schema(
            {
                "dry_run": {"type": "boolean"},
                "things": {"type": "array", "items": _THING},
                "rows": {
                    "description": "Result for each dataset with rows.",
                    "type": "array",
                    "items": _ROWS,
                },
                "left": {
                    "description": "What was not imported, or exists only here, with the reason.",
                    "type": "array",
                    "items": build_object_part({"path": _TEXT, "why": _TEXT}),
                },
            },
            ("dry_run", "things", "rows", "left"),
            [{"dry_run": False, "things": [_SOME_THING], "rows": [_SOME_ROWS], "left": []}],
            [({"things": []}, "was it done?")],
        ),
        handler=_build_import_handler(dependencies),
        annotations=Annotations(
            toolset=Toolset.RECIPES,
            effect=Effect.KEEP,
            transactional=True,
            seconds=3.0,
            audience=Audience.PEOPLE,
            permission=Permission.EDIT,
            arguments_bytes=dependencies.limits.import_bytes,
        ),
    )


def _build_export_handler(dependencies: WorkflowDependencies) -> CapabilityHandler:
    async def export(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        limits = dependencies.limits
        words = await dependencies.validator.load_vocabulary(ctx.actor.workspace_id, {})
        carried = await WorkspaceExport(ctx, limits).run(
            words, rows=bool(arguments.get("rows", False))
        )
        files = await asyncio.to_thread(to_files, carried)
        if len(files) > MOST_FILES:
            raise TooLarge(
                f"The workspace has more than {MOST_FILES:,} files.",
                code="too_many_files",
                suggestion="Archive what is not used.",
            )
        if sum(len(text.encode()) for text in files.values()) > limits.import_bytes:
            raise TooLarge(
                f"The workspace is larger than {limits.import_bytes:,} bytes as files.",
                code="files_too_large",
                suggestion="Leave the rows of boards out, or archive what is not used.",
            )
        return {"files": files, "notes": [one.as_dict() for one in list_export_notes(carried)]}

    return export


def _build_import_handler(dependencies: WorkflowDependencies) -> CapabilityHandler:
    async def bring(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        carried = await asyncio.to_thread(read_files, arguments["files"], dependencies.limits)
        dry_run = bool(arguments.get("dry_run", False))
        told = await WorkspaceImport(ctx, dependencies).run(
            carried, arguments.get("on_clash", "refuse"), dry_run=dry_run
        )
        idle = all(one["what"] == "unchanged" for one in told["things"])
        idle = idle and not any(one["added"] for one in told["rows"])
        return Unchanged(told) if dry_run or idle else told

    return bring
