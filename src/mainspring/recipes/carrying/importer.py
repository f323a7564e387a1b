"""Importing a folder into a workspace: all or nothing, and nothing active.

Everything is validated first, with placeholder ids for resources that do not exist yet. Then boards
are created, workflows without their automations, automations, and finally forward references.
Automations are paused and wait for consent here, regardless of any consent elsewhere. It all
happens in one transaction.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from mainspring.contracts.display_text import choose_free_name
from mainspring.contracts.errors import Conflict, Finding, Problem
from mainspring.contracts.ids import generate_id
from mainspring.definition.strict_json import is_same_value, split_pointer
from mainspring.recipes.carrying.diff import compare
from mainspring.recipes.carrying.exporter import WorkspaceExport
from mainspring.recipes.carrying.model import (
    KINDS,
    ResourceKind,
    WorkspaceContent,
    WorkspaceResource,
)
from mainspring.recipes.carrying.references import ResourceReference, fill_all
from mainspring.recipes.carrying.row_import import RowImportResult, bring_rows
from mainspring.recipes.carrying.validation import validate_content
from mainspring.recipes.entities.boards import BoardHandler
from mainspring.workspace import schedules
from mainspring.workspace.automations import lock_automations, lock_names
from mainspring.workspace.boards.lookup import DEFAULT
from mainspring.workspace.boards.management import update_handler
from mainspring.workspace.import_export import (
    FORMAT,
    VERSION,
    ImportCandidate,
    ImportResult,
    OnClash,
    import_validated,
    validate_import,
)
from mainspring.workspace.prompts import save_prompt
from mainspring.workspace.workflows import management

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.registry import Vocabulary
    from mainspring.workspace.workflows.automations import WorkflowDependencies


# Datasets that a file omits are kept: they hold local rows.


def as_written(written: WorkspaceContent, whole: WorkspaceContent) -> WorkspaceContent:
    """Expand boards, without the default dataset where their files omit it."""
    spoken = {one.slug: _list_dataset_names(one) for one in written.of("board")}
    things = [
        _replace_datasets(
            one, [each for each in _list_datasets(one) if each["name"] in spoken[one.slug]]
        )
        if one.kind == "board"
        else one
        for one in whole.resources
    ]
    return replace(whole, resources=tuple(things))


def filter_described(here: WorkspaceContent, coming: WorkspaceContent) -> WorkspaceContent:
    """Restrict local content to the datasets that the files describe, in their order."""
    orders = {
        one.name: [each["name"] for each in _list_datasets(one)] for one in coming.of("board")
    }
    things = [
        _select_datasets(one, orders[one.name])
        if one.kind == "board" and one.name in orders
        else one
        for one in here.resources
    ]
    return replace(here, resources=tuple(things))


def _select_datasets(board: WorkspaceResource, order: Sequence[str]) -> WorkspaceResource:
    known = {each["name"]: each for each in _list_datasets(board)}
    return _replace_datasets(board, [known[name] for name in order if name in known])


def list_kept_datasets(here: WorkspaceResource, coming: WorkspaceResource) -> list[dict[str, str]]:
    """List a local board's datasets that its file omits."""
    spoken = _list_dataset_names(coming)
    return [
        {
            "path": coming.path,
            "why": f"The dataset {one['name']!r} is not in the file. It is kept.",
        }
        for one in _list_datasets(here)
        if one["name"] not in spoken and not _is_usual(one)
    ]


def _is_usual(dataset: Mapping[str, Any]) -> bool:
    """The default dataset, which files may omit."""
    return (
        dataset["name"] == DEFAULT
        and not dataset["columns"]
        and dataset["dedupe_key_field"] is None
    )


def _list_datasets(board: WorkspaceResource) -> list[Mapping[str, Any]]:
    return list(board.content.get("datasets") or ())


def _list_dataset_names(board: WorkspaceResource) -> set[str]:
    return {one["name"] for one in _list_datasets(board)}


def _replace_datasets(
    board: WorkspaceResource, datasets: list[Mapping[str, Any]]
) -> WorkspaceResource:
    return replace(board, content={**board.content, "datasets": datasets})


# Import planning: pure decisions before anything is written.

ImportAction = Literal["made", "unchanged", "changed", "renamed"]


@dataclass(frozen=True, slots=True)
class PlannedResource:
    """A resource and its planned action."""

    resource: WorkspaceResource
    action: ImportAction
    # Its id, if it exists here.
    id: UUID | None = None


def plan(
    here: WorkspaceContent,
    ids: Mapping[tuple[ResourceKind, str], UUID],
    coming: WorkspaceContent,
    on_clash: OnClash,
) -> list[PlannedResource]:
    """Plan each resource in import order; ``Clash`` with all conflicts."""
    differing = compare(filter_described(here, coming), coming)
    other = {(one.kind, one.name) for one in differing if one.what == "changed"}
    planned: list[PlannedResource] = []
    clashes: list[Finding] = []
    for kind in KINDS:
        counted = Counter(one.name for one in coming.of(kind))
        for thing in coming.of(kind):
            there = [ids[kind, one.slug] for one in here.of(kind) if one.name == thing.name]
            if not there:
                planned.append(PlannedResource(thing, "made"))
            elif len(there) > 1 or counted[thing.name] > 1:
                clashes.append(_build_ambiguous_finding(thing, there))
            elif (kind, thing.name) not in other:
                planned.append(PlannedResource(thing, "unchanged", there[0]))
            elif on_clash == "refuse":
                clashes.append(_build_name_taken_finding(thing))
            elif on_clash == "rename":
                planned.append(PlannedResource(thing, "renamed"))
            else:
                planned.append(PlannedResource(thing, "changed", there[0]))
    if clashes:
        raise Conflict(
            "Nothing was imported: names are taken.",
            code="name_taken",
            findings=clashes,
            suggestion="Set on_clash to new_version or rename.",
        )
    return planned


def _build_name_taken_finding(thing: WorkspaceResource) -> Finding:
    detail = f"There is another {thing.kind} called {thing.name!r} already."
    return Finding(f"{thing.path}#", detail, "name_taken")


def _build_ambiguous_finding(thing: WorkspaceResource, there: Sequence[UUID]) -> Finding:
    detail = (
        f"Several {thing.kind}s are called {thing.name!r}, in the workspace or in the files, so "
        "the name is ambiguous."
    )
    hint = f"Rename them; here it is {', '.join(str(one) for one in there[:3])}."
    return Finding(f"{thing.path}#", detail, "ambiguous_name", hint)


_PLANNED: Final[tuple[str, ...]] = ("title", "charter", "kpis", "deadlines")
_LEFT: Final[Mapping[str, str]] = {
    "settings": "The approval policy is never imported. An owner sets it.",
    "recipes": "Objects are imported as they are. No recipe is installed.",
}


@dataclass(slots=True)
class ImportState:
    """The state of an import in progress."""

    # The id of each resource; a new id for one that does not exist yet.
    ids: dict[ResourceReference, str] = field(default_factory=dict)
    imported: dict[str, ImportResult] = field(default_factory=dict)
    names: dict[tuple[ResourceKind, str], str] = field(default_factory=dict)
    # The content that each board got.
    boards: dict[str, Any] = field(default_factory=dict)
    rows: list[RowImportResult] = field(default_factory=list)
    left: list[dict[str, str]] = field(default_factory=list)


class WorkspaceImport:
    """An import into one workspace."""

    def __init__(self, ctx: CallContext, dependencies: WorkflowDependencies) -> None:
        self._ctx, self._dependencies, self._limits = ctx, dependencies, dependencies.limits
        self._space: UUID = ctx.actor.workspace_id
        self._boards = BoardHandler(dependencies.limits)
        self._done = ImportState()

    async def run(
        self, carried: WorkspaceContent, on_clash: OnClash, *, dry_run: bool = False
    ) -> dict[str, Any]:
        """Import everything, or report what would be imported."""
        documents = [dict(one.content) for one in carried.of("automation")]
        words = await self._dependencies.validator.load_vocabulary(
            self._space, {"automations": documents}
        )
        whole = await asyncio.to_thread(validate_content, carried, words, self._limits)
        coming = as_written(carried, whole)
        await lock_names(self._ctx.tx, self._space)
        taking = WorkspaceExport(self._ctx, self._limits)
        here = await taking.run()
        planned = await asyncio.to_thread(plan, here, taking.ids, coming, on_clash)
        self._stand_in(planned)
        automations = _select_changing(planned, "automation")
        await self._judged(automations, words)
        self._leave(coming)
        self._keep(here, planned)
        if not dry_run:
            await self._boards_in(planned)
            await self._workflows_in(planned)
            await self._automations_in(automations, words, on_clash)
            await self._settle(planned)
        await self._rows_in(planned, dry_run=dry_run)
        return self._told(planned, dry_run=dry_run)

    def _stand_in(self, planned: Sequence[PlannedResource]) -> None:
        for one in planned:
            if one.resource.kind != "prompt":
                self._done.ids[one.resource.reference] = str(one.id or generate_id())

    def _leave(self, coming: WorkspaceContent) -> None:
        for name, why in _LEFT.items():
            if getattr(coming, name):
                self._done.left.append({"path": f"{name}.json", "why": why})

    def _keep(self, here: WorkspaceContent, planned: Sequence[PlannedResource]) -> None:
        boards = {one.name: one for one in here.of("board")}
        for one in planned:
            if one.resource.kind == "board" and one.id is not None:
                self._done.left += list_kept_datasets(boards[one.resource.name], one.resource)

    def _filled(self, thing: WorkspaceResource) -> dict[str, Any]:
        found, _ = fill_all(thing.inside, self._done.ids.get)
        return dict(thing.with_inside(found).content)

    async def _boards_in(self, planned: Sequence[PlannedResource]) -> None:
        for one in _select_changing(planned, "board"):
            content = self._filled(one.resource)
            try:
                if one.id is not None:
                    made = await self._boards.rebuild(self._ctx, one.id, content)
                else:
                    made = await self._boards.create(self._ctx, content)
            except Problem as problem:
                raise _attribute_to_file(problem, one.resource) from None
            self._done.ids[one.resource.reference] = str(made.id)
            self._done.boards[one.resource.slug] = content
            name = made.name
            if name != one.resource.name and one.action == "made":
                # Two boards of the folder share a name, as in the source workspace.
                name = one.resource.name
                await self._rename(made.id, name)
            self._done.names["board", one.resource.slug] = name

    async def _rename(self, board_id: UUID, name: str) -> None:
        update = update_handler(self._limits)
        await update(self._ctx, {"board_id": str(board_id), "name": name})

    async def _workflows_in(self, planned: Sequence[PlannedResource]) -> None:
        """Create new workflows without their automations, which do not exist yet."""
        for one in _select_changing(planned, "workflow"):
            if one.id is not None:
                continue
            content = self._filled(one.resource)
            given = {key: content[key] for key in _PLANNED if key in content}
            if one.action == "renamed":
                taken = {each.resource.name for each in planned if each.resource.kind == "workflow"}
                given["title"] = choose_free_name(given["title"], taken)
            board = {"board_id": content["board"]} if content.get("board") else {}
            try:
                made = await management.make(
                    self._ctx, self._dependencies, {**given, "make_board": False, **board}
                )
            except Problem as problem:
                raise _attribute_to_file(problem, one.resource) from None
            self._done.ids[one.resource.reference] = str(made)
            self._done.names["workflow", one.resource.slug] = given["title"]

    async def _automations_in(
        self, going: Sequence[PlannedResource], vocabulary: Vocabulary, on_clash: OnClash
    ) -> None:
        """Save automations, and again where they refer to one that had no id before."""
        held = [one.id for one in going if one.id is not None]
        await lock_automations(self._ctx.tx, self._space, held)
        before = await schedules.list_waiting_schedules(
            self._ctx.tx, [(self._space, one) for one in held]
        )
        first = {one.resource.slug: self._filled(one.resource) for one in going}
        await self._store(going, vocabulary, on_clash)
        again = [
            one
            for one in going
            if not is_same_value(first[one.resource.slug], self._filled(one.resource))
        ]
        if again:
            await self._store(again, vocabulary, "new_version")
        await self._dependencies.record(self._ctx.tx, before, self._limits)

    async def _store(
        self, going: Sequence[PlannedResource], vocabulary: Vocabulary, on_clash: OnClash
    ) -> None:
        found = await self._judged(going, vocabulary)
        try:
            made = await import_validated(
                self._ctx.tx,
                self._space,
                found,
                self._ctx.actor.id,
                vocabulary,
                self._limits,
                on_clash,
            )
        except Problem as problem:
            raise _map_problem_to_files(problem, [one.resource for one in going]) from None
        for one, imported in zip(going, made, strict=True):
            slug = one.resource.slug
            earlier = self._done.imported.get(slug)
            renamed = imported.renamed_from if earlier is None else earlier.renamed_from
            self._done.imported[slug] = replace(imported, renamed_from=renamed)
            self._done.ids[one.resource.reference] = str(imported.saved.automation_id)
            self._done.names["automation", slug] = imported.name

    async def _judged(
        self, going: Sequence[PlannedResource], vocabulary: Vocabulary
    ) -> list[ImportCandidate]:
        documents = [self._filled(one.resource) for one in going]
        for one, document in zip(going, documents, strict=True):
            document["name"] = self._done.names.get(
                ("automation", one.resource.slug), one.resource.name
            )
        bundle = {"format": FORMAT, "version": VERSION, "automations": documents}
        try:
            return await validate_import(bundle, vocabulary, self._limits)
        except Problem as problem:
            raise _map_problem_to_files(problem, [one.resource for one in going]) from None

    async def _settle(self, planned: Sequence[PlannedResource]) -> None:
        """Resolve forward references, and import saved prompts."""
        for one in _select_changing(planned, "board"):
            content = self._filled(one.resource)
            if not is_same_value(content, self._done.boards[one.resource.slug]):
                name = self._done.names["board", one.resource.slug]
                board_id = UUID(self._done.ids[one.resource.reference])
                await self._boards.rebuild(self._ctx, board_id, {**content, "name": name})
        for one in _select_changing(planned, "workflow"):
            await self._complete(one)
        taken = {one.resource.name for one in planned if one.resource.kind == "prompt"}
        for one in _select_changing(planned, "prompt"):
            name = one.resource.name
            if one.action == "renamed":
                name = choose_free_name(name, taken)
                taken.add(name)
            text = str(one.resource.content["text"])
            await save_prompt(self._ctx.tx, self._space, self._ctx.actor.id, name, text)
            self._done.names["prompt", one.resource.slug] = name

    async def _rows_in(self, planned: Sequence[PlannedResource], *, dry_run: bool) -> None:
        for one in planned:
            if one.resource.kind != "board" or not one.resource.rows:
                continue
            own = one.id if dry_run else UUID(self._done.ids[one.resource.reference])
            found = await bring_rows(self._ctx, self._limits, own, one.resource, dry_run=dry_run)
            self._done.rows += found
            self._done.left += [why for each in found for why in each.reasons()]

    async def _complete(self, one: PlannedResource) -> None:
        content = self._filled(one.resource)
        given = {key: content[key] for key in _PLANNED if key in content}
        given["title"] = self._done.names.get(("workflow", one.resource.slug), given["title"])
        board = {"board_id": content["board"]} if content.get("board") else {}
        asked = {
            "workflow_id": self._done.ids[one.resource.reference],
            "automation_ids": list(content.get("automations", [])),
            **given,
            **board,
        }
        try:
            await management.update(self._ctx, self._dependencies, asked)
        except Problem as problem:
            raise _attribute_to_file(problem, one.resource) from None

    def _told(self, planned: Sequence[PlannedResource], *, dry_run: bool) -> dict[str, Any]:
        return {
            "dry_run": dry_run,
            "things": [self._one(planned_one, dry_run=dry_run) for planned_one in planned],
            "rows": [one.as_dict() for one in self._done.rows],
            "left": self._done.left,
        }

    def _one(self, one: PlannedResource, *, dry_run: bool) -> dict[str, Any]:
        thing = one.resource
        name = self._done.names.get((thing.kind, thing.slug), thing.name)
        there = thing.kind != "prompt" and (one.id is not None or not dry_run)
        imported = self._done.imported.get(thing.slug) if thing.kind == "automation" else None
        consent = None if imported is None or imported.consent is None else imported.consent.id
        return {
            "kind": thing.kind,
            "name": name,
            "path": thing.path,
            "what": self._what(one),
            "id": self._done.ids[thing.reference] if there else None,
            "renamed_from": thing.name if name != thing.name else None,
            "consent_id": None if consent is None else str(consent),
        }

    def _what(self, one: PlannedResource) -> str:
        """Imported rows change a board, even if it is otherwise equal."""
        own = one.resource.beside.values()
        added = any(each.added and each.path in own for each in self._done.rows)
        return "changed" if added and one.action == "unchanged" else one.action


def _select_changing(
    planned: Sequence[PlannedResource], kind: ResourceKind
) -> list[PlannedResource]:
    """Select resources of a kind that change."""
    return [one for one in planned if one.resource.kind == kind and one.action != "unchanged"]


def _map_problem_to_files(problem: Problem, things: Sequence[WorkspaceResource]) -> Problem:
    """Attribute problems of automations to their files."""
    problem.findings = tuple(_map_finding_to_file(one, things) for one in problem.findings)
    return problem


def _map_finding_to_file(finding: Finding, things: Sequence[WorkspaceResource]) -> Finding:
    parts = split_pointer(finding.pointer)
    if len(parts) < 2 or parts[0] != "automations" or not parts[1].isdigit():
        return finding
    rest = finding.pointer[len(f"/automations/{parts[1]}") :]
    return replace(finding, pointer=things[int(parts[1])].place(rest))


def _attribute_to_file(problem: Problem, thing: WorkspaceResource) -> Problem:
    """Attribute a resource's problem to its file."""
    found = [
        replace(one, pointer=thing.place(one.pointer.removeprefix("/template")))
        for one in problem.findings
    ]
    problem.findings = tuple(found or [Finding(f"{thing.path}#", problem.detail, problem.code)])
    return problem
