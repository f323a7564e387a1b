"""What becomes of each thing of a folder in a workspace: pure decisions, before anything is done.

A thing whose name nothing has is made. One that is here and says the same is left as it is. One
that is here and says something else is what the person decided for clashes: refused, changed to
what the file says, or made beside it under another name. Where a name is here more than once,
nobody guesses which is meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding
from mainspring.recipes.carrying.carried import (
    KINDS,
    ResourceKind,
    WorkspaceContent,
    WorkspaceResource,
)
from mainspring.recipes.carrying.comparing import compare
from mainspring.recipes.carrying.unspoken import filter_described
from mainspring.workspace.portable import OnClash

ImportAction = Literal["made", "unchanged", "changed", "renamed"]


@dataclass(frozen=True, slots=True)
class PlannedResource:
    """One thing and what becomes of it."""

    thing: WorkspaceResource
    what: ImportAction
    # What it is here already.
    id: UUID | None = None


def plan(
    here: WorkspaceContent,
    ids: Mapping[tuple[ResourceKind, str], UUID],
    coming: WorkspaceContent,
    on_clash: OnClash,
) -> list[PlannedResource]:
    """Each thing in the order in which they are brought in; ``Clash`` with all that clash."""
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
            suggestion="Say with on_clash whether to save new versions or to rename.",
        )
    return planned


def _build_name_taken_finding(thing: WorkspaceResource) -> Finding:
    detail = f"There is another {thing.kind} called {thing.name!r} already."
    return Finding(f"{thing.path}#", detail, "name_taken")


def _build_ambiguous_finding(thing: WorkspaceResource, there: Sequence[UUID]) -> Finding:
    detail = (
        f"Several {thing.kind}s are called {thing.name!r}, here or in the files: nobody can say "
        "which of them is meant."
    )
    hint = f"Rename them; here it is {', '.join(str(one) for one in there[:3])}."
    return Finding(f"{thing.path}#", detail, "ambiguous_name", hint)
