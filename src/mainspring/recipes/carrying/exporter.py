"""Exporting a workspace: everything people made, and nothing secret.

Local data is left out: states, versions, runs, rosters, tokens, connections and secret values. Ids
become references to exported resources. Ids of resources that are not exported are reported with
their pointers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Finding, TooLarge
from mainspring.contracts.limits import Limits
from mainspring.definition.secret_use import find_secret_uses
from mainspring.recipes.carrying.model import (
    KINDS,
    ResourceKind,
    WorkspaceContent,
    WorkspaceResource,
    assign_slugs,
)
from mainspring.recipes.carrying.references import ResourceReference, find_remaining_ids, mark_all
from mainspring.recipes.entities.boards import BoardHandler
from mainspring.workspace.approval_policy import ApprovalPolicy, load_approval_policy
from mainspring.workspace.import_export import export_automation
from mainspring.workspace.prompts import list_prompts
from mainspring.workspace.workflows.repository import MOST_LISTED, describe_workflows, list_all

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.registry import Vocabulary

MOST_NOTES: Final = 100
_PORTION: Final = 1_000

_AUTOMATIONS = """
    SELECT id FROM automations WHERE workspace_id = $1 AND state <> 'archived' ORDER BY id
"""
_BOARDS = "SELECT id FROM boards WHERE workspace_id = $1 AND archived_at IS NULL ORDER BY id"
_ROWS = """
    SELECT r.position, r.data, r.bytes FROM board_rows r
    JOIN board_datasets d ON d.workspace_id = r.workspace_id AND d.id = r.dataset_id
    WHERE r.workspace_id = $1 AND d.board_id = $2 AND d.name = $3 AND r.deleted_at IS NULL
      AND r.position >= $4
    ORDER BY r.position LIMIT $5
"""
_INSTALLS = """
    SELECT slug, version, kind, entity_kind, entity_id FROM recipe_installs
    WHERE workspace_id = $1 AND uninstalled_at IS NULL AND entity_kind <> 'bundle'
    ORDER BY slug, id
"""


class WorkspaceExport:
    """An export of one workspace."""

    def __init__(self, ctx: CallContext, limits: Limits) -> None:
        self._ctx, self._limits = ctx, limits
        self._space: UUID = ctx.actor.workspace_id
        self._room = limits.import_bytes
        # The id of each exported resource.
        self.ids: dict[tuple[ResourceKind, str], UUID] = {}

    async def run(
        self, vocabulary: Vocabulary | None = None, *, rows: bool = False
    ) -> WorkspaceContent:
        """Export everything with references instead of ids; with a vocabulary, also what it
        needs."""
        found: dict[ResourceKind, list[WorkspaceResource]] = {
            "board": await self._boards(rows=rows),
            "automation": await self._automations(),
            "workflow": await self._workflows(),
            "prompt": await self._prompts(),
        }
        ordered = [(UUID(own), thing) for kind in KINDS for own, thing in assign_slugs(found[kind])]
        self.ids = {(thing.kind, thing.slug): own for own, thing in ordered}
        ids = {str(own): thing.reference for own, thing in ordered if thing.kind != "prompt"}
        things = tuple(
            thing.with_inside(_insert_resource_references(thing, ids)) for _, thing in ordered
        )
        documents = [dict(one.content) for one in found["automation"]]
        return WorkspaceContent(
            things,
            await self._settings(),
            await self._recipes(ids),
            _collect_needs(documents, vocabulary, self._limits),
        )

    async def _automations(self) -> list[WorkspaceResource]:
        rows = await self._ctx.tx.fetch(_AUTOMATIONS, self._space)
        return [
            WorkspaceResource(
                "automation",
                str(row["id"]),
                await export_automation(self._ctx.tx, self._space, row["id"]),
            )
            for row in rows
        ]

    async def _boards(self, *, rows: bool) -> list[WorkspaceResource]:
        boards, found = BoardHandler(self._limits), []
        for row in await self._ctx.tx.fetch(_BOARDS, self._space):
            made = await boards.read(self._ctx, row["id"])
            if made is not None:
                held = await self._rows(row["id"], made.content) if rows else {}
                found.append(WorkspaceResource("board", str(row["id"]), made.content, held))
        return found

    async def _rows(
        self, board_id: UUID, content: Mapping[str, Any]
    ) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for dataset in content["datasets"]:
            held: list[dict[str, Any]] = []
            position = 0
            while True:
                page = await self._ctx.tx.fetch(
                    _ROWS, self._space, board_id, dataset["name"], position, _PORTION
                )
                self._room -= sum(row["bytes"] for row in page)
                if self._room < 0:
                    raise _workspace_too_large_error(self._limits)
                held += [row["data"] for row in page]
                if len(page) < _PORTION:
                    break
                position = page[-1]["position"] + 1
            if held:
                found[dataset["name"]] = held
        return found

    async def _workflows(self) -> list[WorkspaceResource]:
        found: list[WorkspaceResource] = []
        after: UUID | None = None
        while True:
            page = await list_all(self._ctx.tx, self._space, None, after, MOST_LISTED)
            entries = await describe_workflows(self._ctx.tx, self._space, page)
            found += [
                WorkspaceResource("workflow", one["id"], _export_workflow(one))
                for one in entries
                if one["status"] != "archived"
            ]
            if len(page) < MOST_LISTED:
                return found
            after = page[-1].id

    async def _prompts(self) -> list[WorkspaceResource]:
        return [
            WorkspaceResource("prompt", str(row["id"]), {"name": row["name"], "text": row["text"]})
            for row in await list_prompts(self._ctx.tx, self._space)
        ]

    async def _settings(self) -> dict[str, Any]:
        policy = await load_approval_policy(self._ctx.tx, self._space)
        return {} if policy == ApprovalPolicy() else {"approval_policy": policy.as_dict()}

    async def _recipes(self, ids: Mapping[str, ResourceReference]) -> tuple[dict[str, Any], ...]:
        rows = await self._ctx.tx.fetch(_INSTALLS, self._space)
        return tuple(
            {
                "of": str(ids[str(row["entity_id"])]),
                "recipe": row["slug"],
                "version": row["version"],
                "kind": row["kind"],
            }
            for row in rows
            if str(row["entity_id"]) in ids
        )


def _export_workflow(result: Mapping[str, Any]) -> dict[str, Any]:
    """Export a workflow without its people."""
    return {
        "title": result["title"],
        "charter": result["charter"],
        # A KPI's current value is not part of its plan.
        "kpis": [
            {key: value for key, value in one.items() if key != "current"} for one in result["kpis"]
        ],
        "deadlines": result["deadlines"],
        "board": result["board_id"],
        "automations": [
            one["automation_id"] for one in result["automations"] if one["state"] != "archived"
        ],
    }


def _insert_resource_references(
    thing: WorkspaceResource, ids: Mapping[str, ResourceReference]
) -> dict[str, Any]:
    if thing.kind == "prompt":
        return thing.inside
    marked: dict[str, Any] = mark_all(thing.inside, ids)
    if thing.kind == "workflow":
        marked["automations"] = sorted(marked["automations"])
    return marked


def list_export_notes(carried: WorkspaceContent) -> list[Finding]:
    """Report ids that have no meaning elsewhere, with their pointers."""
    found = [
        Finding(
            thing.place(at),
            f"The id {one} is valid only in this workspace.",
            "foreign_id",
            "Use a name instead, or change it after the import.",
        )
        for thing in carried.resources
        if thing.kind != "prompt"
        for at, one in find_remaining_ids(thing.inside)
    ]
    return found[:MOST_NOTES]


def _collect_needs(
    documents: Sequence[Mapping[str, Any]], vocabulary: Vocabulary | None, limits: Limits
) -> dict[str, list[str]]:
    """Collect the secrets and integrations that the automations use."""
    secrets = {use.secret for one in documents for use in find_secret_uses(one, limits)}
    integrations = (
        set() if vocabulary is None else set(_iterate_integrations(documents, vocabulary))
    )
    needs = {"connections": sorted(integrations), "secrets": sorted(secrets)}
    return {name: found for name, found in needs.items() if found}


def _iterate_integrations(
    documents: Iterable[Mapping[str, Any]], vocabulary: Vocabulary
) -> Iterator[str]:
    for document in documents:
        for name in _iterate_called_names(document):
            capability = vocabulary.capabilities.get(name)
            route = None if capability is None else capability.annotations.route
            if route is not None and route.connection == "needed":
                yield route.integration


def _iterate_called_names(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key in ("action", "capability", "tool"):
            if isinstance(value.get(key), str):
                yield value[key]
        for one in value.values():
            yield from _iterate_called_names(one)
    elif isinstance(value, list):
        for one in value:
            yield from _iterate_called_names(one)


def _workspace_too_large_error(limits: Limits) -> TooLarge:
    return TooLarge(
        f"The workspace is larger than {limits.import_bytes:,} bytes as files.",
        code="files_too_large",
        suggestion="Leave the rows of boards out.",
    )
