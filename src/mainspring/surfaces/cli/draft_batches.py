"""Several drafts at once: those that one turn asked for, answered as a set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Invalid, NotFound
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.drafts import list_drafts
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.consent_prompt import check_person, confirm
from mainspring.surfaces.cli.drafts import BY_PEOPLE, format_draft
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.local import local, local_owner
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.terminal_prompt import Ask

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.services import ApplicationServices

_MOST = 500
# As many as confirm_actions takes.
_AT_ONCE = 50


async def answer_batch(
    context: CommandContext,
    screen: Screen,
    text: str,
    *,
    sends: bool,
    reason: str | None,
    ask: Ask | None = None,
) -> int:
    """Confirms or discards what waits of one batch."""
    async with context.doors.open(context.settings()) as services:
        drafts = await _waiting(services, _batch(text))
        if sends:
            check_person(services, screen, ask, BY_PEOPLE)
            shown = [line for one in drafts for line in format_draft(one)]
            if not await confirm(screen, shown, f"Send all {len(drafts)}?", ask):
                screen.say("Nothing was sent; they wait on.")
                return exits.DONE
        results: list[Mapping[str, Any]] = []
        for start in range(0, len(drafts), _AT_ONCE):
            arguments: dict[str, Any] = {
                "draft_ids": [str(one["id"]) for one in drafts[start : start + _AT_ONCE]]
            }
            if reason is not None:
                arguments["reason"] = reason
            name = "confirm_actions" if sends else "discard_actions"
            answer = await services.gate.direct(
                CapabilityCaller(local_owner(services)), name, arguments
            )
            results += answer["results"]
    if screen.for_programs:
        screen.answer({"results": results})
    else:
        screen.say(*_lines(drafts, results))
    return exits.FAILED if any(one["status"] == "failed" for one in results) else exits.DONE


def _batch(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Invalid(
            "A batch is named by its whole id.",
            code="usage",
            suggestion=f"{hint('drafts')} shows the batches.",
        ) from None


async def _waiting(services: ApplicationServices, batch: UUID) -> list[dict[str, Any]]:
    """The oldest first, as they were asked for."""
    words = await services.registry.of(services.workspace_id)
    async with local(services).acquire() as connection:
        found = await list_drafts(
            connection, services.workspace_id, words, status="pending", most=_MOST
        )
    drafts = [one for one in reversed(found) if one["batch_id"] == batch]
    if not drafts:
        raise NotFound("Nothing of this batch waits.", code="no_batch")
    return drafts


def _lines(drafts: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]) -> list[str]:
    said = []
    for draft, one in zip(drafts, results, strict=True):
        said.append(f"{one['status']}: {one_line(draft['preview'], 200)}")
        if one.get("error"):
            said.append(f"  {one_line(str(one['error'].get('detail', '')), 400)}")
    return said
