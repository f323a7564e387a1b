"""A folder brought into a workspace: all of it or nothing, and nothing of it in force.

Everything is judged first, with ids that stand for what is not there yet. Then boards are made,
workflows without their automations, automations, and at last whatever refers to what came
later. Automations are paused and wait for the consent of a person here, whoever agreed to them
elsewhere. It happens in the transaction of one call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Finding, Problem
from mainspring.contracts.ids import new_id
from mainspring.definition.json_values import same
from mainspring.definition.pointers import parts_of
from mainspring.recipes.carrying.carried import Carried, Thing, ThingKind
from mainspring.recipes.carrying.judging import judged
from mainspring.recipes.carrying.planning import Planned, plan
from mainspring.recipes.carrying.references import Reference, fill_all
from mainspring.recipes.carrying.rows import BroughtRows, bring_rows
from mainspring.recipes.carrying.taking import Taking
from mainspring.recipes.carrying.unspoken import as_written, kept
from mainspring.recipes.entities.boards import BoardKind
from mainspring.recipes.entities.naming import free_name
from mainspring.workspace import schedules
from mainspring.workspace.automations import hold_all, hold_names
from mainspring.workspace.boards.managing import update_handler
from mainspring.workspace.portable import (
    FORMAT,
    VERSION,
    Imported,
    Judged,
    OnClash,
    import_judged,
    judge_import,
)
from mainspring.workspace.prompts import keep_prompt
from mainspring.workspace.workflows import making

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.registry import Vocabulary
    from mainspring.workspace.workflows.attached import Around

_PLANNED: Final[tuple[str, ...]] = ("title", "charter", "kpis", "deadlines")
_LEFT: Final[Mapping[str, str]] = {
    "settings": "Who may approve is decided by people here; it is not brought in.",
    "recipes": "Things come as they are; no recipe is installed.",
}


@dataclass(slots=True)
class Brought:
    """What became of a folder so far."""

    # What each thing is here; a new id stands for one that is not there yet.
    ids: dict[Reference, str] = field(default_factory=dict)
    imported: dict[str, Imported] = field(default_factory=dict)
    names: dict[tuple[ThingKind, str], str] = field(default_factory=dict)
    # What each board was filled with.
    boards: dict[str, Any] = field(default_factory=dict)
    rows: list[BroughtRows] = field(default_factory=list)
    left: list[dict[str, str]] = field(default_factory=list)


class Bringing:
    """One import into one workspace."""

    def __init__(self, ctx: CallContext, house: Around) -> None:
        self._ctx, self._house, self._limits = ctx, house, house.limits
        self._space: UUID = ctx.actor.workspace_id
        self._boards = BoardKind(house.limits)
        self._done = Brought()

    async def bring(
        self, carried: Carried, on_clash: OnClash, *, dry_run: bool = False
    ) -> dict[str, Any]:
        """What became of everything, or what would."""
        documents = [dict(one.content) for one in carried.of("automation")]
        words = await self._house.words.words(self._space, {"automations": documents})
        whole = await asyncio.to_thread(judged, carried, words, self._limits)
        coming = as_written(carried, whole)
        await hold_names(self._ctx.tx, self._space)
        taking = Taking(self._ctx, self._limits)
        here = await taking.take()
        planned = await asyncio.to_thread(plan, here, taking.ids, coming, on_clash)
        self._stand_in(planned)
        automations = _going(planned, "automation")
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

    def _stand_in(self, planned: Sequence[Planned]) -> None:
        for one in planned:
            if one.thing.kind != "prompt":
                self._done.ids[one.thing.reference] = str(one.id or new_id())

    def _leave(self, coming: Carried) -> None:
        for name, why in _LEFT.items():
            if getattr(coming, name):
                self._done.left.append({"path": f"{name}.json", "why": why})

    def _keep(self, here: Carried, planned: Sequence[Planned]) -> None:
        boards = {one.name: one for one in here.of("board")}
        for one in planned:
            if one.thing.kind == "board" and one.id is not None:
                self._done.left += kept(boards[one.thing.name], one.thing)

    def _filled(self, thing: Thing) -> dict[str, Any]:
        found, _ = fill_all(thing.inside, self._done.ids.get)
        return dict(thing.with_inside(found).content)

    async def _boards_in(self, planned: Sequence[Planned]) -> None:
        for one in _going(planned, "board"):
            content = self._filled(one.thing)
            try:
                if one.id is not None:
                    made = await self._boards.rebuild(self._ctx, one.id, content)
                else:
                    made = await self._boards.make(self._ctx, content)
            except Problem as problem:
                raise _at(problem, one.thing) from None
            self._done.ids[one.thing.reference] = str(made.id)
            self._done.boards[one.thing.slug] = content
            name = made.name
            if name != one.thing.name and one.what == "made":
                # Two boards of the folder have one name, as they had where it comes from.
                name = one.thing.name
                await self._rename(made.id, name)
            self._done.names["board", one.thing.slug] = name

    async def _rename(self, board_id: UUID, name: str) -> None:
        update = update_handler(self._limits)
        await update(self._ctx, {"board_id": str(board_id), "name": name})

    async def _workflows_in(self, planned: Sequence[Planned]) -> None:
        """New ones without their automations, which are not there yet."""
        for one in _going(planned, "workflow"):
            if one.id is not None:
                continue
            content = self._filled(one.thing)
            given = {key: content[key] for key in _PLANNED if key in content}
            if one.what == "renamed":
                taken = {each.thing.name for each in planned if each.thing.kind == "workflow"}
                given["title"] = free_name(given["title"], taken)
            board = {"board_id": content["board"]} if content.get("board") else {}
            try:
                made = await making.make(
                    self._ctx, self._house, {**given, "make_board": False, **board}
                )
            except Problem as problem:
                raise _at(problem, one.thing) from None
            self._done.ids[one.thing.reference] = str(made)
            self._done.names["workflow", one.thing.slug] = given["title"]

    async def _automations_in(
        self, going: Sequence[Planned], words: Vocabulary, on_clash: OnClash
    ) -> None:
        """Stored once, and once more where they refer to one that had no id before."""
        held = [one.id for one in going if one.id is not None]
        await hold_all(self._ctx.tx, self._space, held)
        before = await schedules.waiting(self._ctx.tx, [(self._space, one) for one in held])
        first = {one.thing.slug: self._filled(one.thing) for one in going}
        await self._store(going, words, on_clash)
        again = [one for one in going if not same(first[one.thing.slug], self._filled(one.thing))]
        if again:
            await self._store(again, words, "new_version")
        await self._house.record(self._ctx.tx, before, self._limits)

    async def _store(self, going: Sequence[Planned], words: Vocabulary, on_clash: OnClash) -> None:
        found = await self._judged(going, words)
        try:
            made = await import_judged(
                self._ctx.tx, self._space, found, self._ctx.actor.id, words, self._limits, on_clash
            )
        except Problem as problem:
            raise _remapped(problem, [one.thing for one in going]) from None
        for one, imported in zip(going, made, strict=True):
            slug = one.thing.slug
            earlier = self._done.imported.get(slug)
            renamed = imported.renamed_from if earlier is None else earlier.renamed_from
            self._done.imported[slug] = replace(imported, renamed_from=renamed)
            self._done.ids[one.thing.reference] = str(imported.saved.automation_id)
            self._done.names["automation", slug] = imported.name

    async def _judged(self, going: Sequence[Planned], words: Vocabulary) -> list[Judged]:
        documents = [self._filled(one.thing) for one in going]
        for one, document in zip(going, documents, strict=True):
            document["name"] = self._done.names.get(("automation", one.thing.slug), one.thing.name)
        bundle = {"format": FORMAT, "version": VERSION, "automations": documents}
        try:
            return await judge_import(bundle, words, self._limits)
        except Problem as problem:
            raise _remapped(problem, [one.thing for one in going]) from None

    async def _settle(self, planned: Sequence[Planned]) -> None:
        """What refers to things that came later, and requests in words."""
        for one in _going(planned, "board"):
            content = self._filled(one.thing)
            if not same(content, self._done.boards[one.thing.slug]):
                name = self._done.names["board", one.thing.slug]
                board_id = UUID(self._done.ids[one.thing.reference])
                await self._boards.rebuild(self._ctx, board_id, {**content, "name": name})
        for one in _going(planned, "workflow"):
            await self._complete(one)
        taken = {one.thing.name for one in planned if one.thing.kind == "prompt"}
        for one in _going(planned, "prompt"):
            name = one.thing.name
            if one.what == "renamed":
                name = free_name(name, taken)
                taken.add(name)
            text = str(one.thing.content["text"])
            await keep_prompt(self._ctx.tx, self._space, self._ctx.actor.id, name, text)
            self._done.names["prompt", one.thing.slug] = name

    async def _rows_in(self, planned: Sequence[Planned], *, dry_run: bool) -> None:
        for one in planned:
            if one.thing.kind != "board" or not one.thing.rows:
                continue
            own = one.id if dry_run else UUID(self._done.ids[one.thing.reference])
            found = await bring_rows(self._ctx, self._limits, own, one.thing, dry_run=dry_run)
            self._done.rows += found
            self._done.left += [why for each in found for why in each.reasons()]

    async def _complete(self, one: Planned) -> None:
        content = self._filled(one.thing)
        given = {key: content[key] for key in _PLANNED if key in content}
        given["title"] = self._done.names.get(("workflow", one.thing.slug), given["title"])
        board = {"board_id": content["board"]} if content.get("board") else {}
        asked = {
            "workflow_id": self._done.ids[one.thing.reference],
            "automation_ids": list(content.get("automations", [])),
            **given,
            **board,
        }
        try:
            await making.update(self._ctx, self._house, asked)
        except Problem as problem:
            raise _at(problem, one.thing) from None

    def _told(self, planned: Sequence[Planned], *, dry_run: bool) -> dict[str, Any]:
        return {
            "dry_run": dry_run,
            "things": [self._one(planned_one, dry_run=dry_run) for planned_one in planned],
            "rows": [one.as_dict() for one in self._done.rows],
            "left": self._done.left,
        }

    def _one(self, one: Planned, *, dry_run: bool) -> dict[str, Any]:
        thing = one.thing
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

    def _what(self, one: Planned) -> str:
        """Rows that come to a board change it, whatever else is the same."""
        own = one.thing.beside.values()
        added = any(each.added and each.path in own for each in self._done.rows)
        return "changed" if added and one.what == "unchanged" else one.what


def _going(planned: Sequence[Planned], kind: ThingKind) -> list[Planned]:
    """Those of a kind that something happens to."""
    return [one for one in planned if one.thing.kind == kind and one.what != "unchanged"]


def _remapped(problem: Problem, things: Sequence[Thing]) -> Problem:
    """A problem with automations, told by their files."""
    problem.findings = tuple(_found_in(one, things) for one in problem.findings)
    return problem


def _found_in(finding: Finding, things: Sequence[Thing]) -> Finding:
    parts = parts_of(finding.pointer)
    if len(parts) < 2 or parts[0] != "automations" or not parts[1].isdigit():
        return finding
    rest = finding.pointer[len(f"/automations/{parts[1]}") :]
    return replace(finding, pointer=things[int(parts[1])].place(rest))


def _at(problem: Problem, thing: Thing) -> Problem:
    """A problem with one thing, told by its file."""
    found = [
        replace(one, pointer=thing.place(one.pointer.removeprefix("/template")))
        for one in problem.findings
    ]
    problem.findings = tuple(found or [Finding(f"{thing.path}#", problem.detail, problem.code)])
    return problem
