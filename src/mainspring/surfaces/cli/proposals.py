"""Proposals by command: listed, shown, answered, changed, saved and thrown away.

The commands call the same capabilities as every other surface, as the local owner: whoever sits
at this machine is the person who reads a proposal and agrees to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, Invalid
from mainspring.gate.callers import CapabilityCaller
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.answers import read_answers, read_edits
from mainspring.surfaces.cli.columns import columns, format_time, short_id
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.local import local, local_owner
from mainspring.surfaces.cli.lookup import find_one
from mainspring.surfaces.cli.proposal_view import (
    next_lines,
    open_lines,
    proposal_lines,
    saved_lines,
    status_words,
)
from mainspring.surfaces.cli.screen import Screen, one_line

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.services import ApplicationServices

LAST: Final = "last"
# What the refusal is called when another automation writes the same way.
OVERLAP: Final = "overlap"
_NEWEST = """
    SELECT id FROM proposals
    WHERE workspace_id = $1 AND ($2::uuid IS NULL OR id < $2)
    ORDER BY id DESC LIMIT 2
"""


@dataclass(frozen=True, slots=True)
class GenerationOptions:
    """Who shall make or change a proposal, and for how much."""

    by: str | None = None
    model: str | None = None
    max_usd: float | None = None

    def arguments(self) -> dict[str, Any]:
        said = {"by": self.by, "model": self.model, "max_usd": self.max_usd}
        return {name: one for name, one in said.items() if one is not None}


@dataclass(frozen=True, slots=True)
class LocalCapabilities:
    """Calls capabilities as the local owner, in this process."""

    services: ApplicationServices

    async def call(self, capability: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return await call(self.services, capability, arguments)


async def call(
    rooms: ApplicationServices, capability: str, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """One call through the gate, as the local owner."""
    caller = CapabilityCaller(local_owner(rooms))
    answer: dict[str, Any] = await rooms.gate.direct(caller, capability, dict(arguments))
    return answer


async def find_proposal(services: ApplicationServices, text: str) -> dict[str, Any]:
    """The proposal that is meant: by its id, the id's first characters, or ``last``."""
    async with local(services).acquire() as connection:

        async def page(before: UUID | None) -> Sequence[UUID]:
            rows = await connection.fetch(_NEWEST, services.workspace_id, before)
            return [row["id"] for row in rows]

        newest = await page(None) if text == LAST else ()
        found = (
            newest[0] if newest else await find_one(text, page, lambda one: one, kind="proposal")
        )
    return await call(services, "get_proposal", {"proposal_id": str(found)})


async def show_proposals(context: CommandContext, screen: Screen, most: int) -> int:
    """Lists open proposals, newest first."""
    async with open_client(context) as client:
        found = await client.call("list_proposals", {"limit": most})
    if screen.for_programs:
        screen.answer(found)
    elif found["proposals"]:
        rows = (
            (
                short_id(one["proposal_id"], screen),
                status_words(one),
                one_line(one["name"] or "", 40),
                one_line(one["request"], 80),
                format_time(datetime.fromisoformat(one["expires_at"]), screen),
            )
            for one in found["proposals"]
        )
        heads = ("Proposal", "Status", "Name", "Words", "Until")
        screen.say(columns(heads, rows, whole=("Proposal", "Status", "Until")))
        screen.say("", f"  {hint('proposals', 'show', 'PROPOSAL')}")
    else:
        screen.say("There are no proposals that wait.", f"  {hint('new')}")
    return exits.DONE


async def tell(services: ApplicationServices, screen: Screen, proposal: Mapping[str, Any]) -> int:
    """The whole of it, what is open and how to go on; for a program, the proposal."""
    if screen.for_programs:
        screen.answer(proposal)
    else:
        words = await services.registry.of(services.workspace_id)
        screen.say(*proposal_lines(proposal, words, screen))
        screen.say(*open_lines(proposal, screen), *next_lines(proposal))
    return exits.INVALID if proposal["problems"] else exits.DONE


async def show_proposal(context: CommandContext, screen: Screen, text: str) -> int:
    async with context.doors.open(context.settings()) as services:
        await tell(services, screen, await find_proposal(services, text))
    return exits.DONE


async def answer_proposal(
    context: CommandContext, screen: Screen, text: str, words: Sequence[str]
) -> int:
    """Answers some of its questions, all at once or not at all."""
    async with context.doors.open(context.settings()) as services:
        proposal = await find_proposal(services, text)
        return await tell(services, screen, await apply_answer_words(services, proposal, words))


async def apply_answer_words(
    services: ApplicationServices, proposal: Mapping[str, Any], words: Sequence[str]
) -> dict[str, Any]:
    """The proposal with answers that were given as ``ID=VALUE``."""
    answers = read_answers(words, proposal["questions"], services.limits)
    return await go_on(services, proposal, {"answers": answers})


async def go_on(
    services: ApplicationServices, proposal: Mapping[str, Any], change: Mapping[str, Any]
) -> dict[str, Any]:
    """The proposal after a change of just what was read."""
    given = {"proposal_id": proposal["proposal_id"], "revision": proposal["revision"], **change}
    return await call(services, "refine_proposal", given)


async def refine_proposal(
    context: CommandContext, screen: Screen, text: str, instruction: str, making: GenerationOptions
) -> int:
    """Changes it in words."""
    async with context.doors.open(context.settings()) as services:
        proposal = await find_proposal(services, text)
        change = {"instruction": instruction, **making.arguments()}
        return await tell(services, screen, await go_on(services, proposal, change))


async def refine_in_words(
    context: CommandContext,
    screen: Screen,
    text: str,
    words: Sequence[str],
    by: str | None,
    model: str | None,
    max_usd: float | None,
) -> int:
    making = GenerationOptions(by, model, max_usd)
    return await refine_proposal(context, screen, text, " ".join(words), making)


async def edit_proposal(
    context: CommandContext,
    screen: Screen,
    text: str,
    words: Sequence[str] | None,
    removed: Sequence[str] | None,
) -> int:
    """Puts values into the definition, or takes them out."""
    edits = read_edits(words or (), removed or (), context.limits())
    async with context.doors.open(context.settings()) as services:
        proposal = await find_proposal(services, text)
        return await tell(services, screen, await go_on(services, proposal, {"edits": edits}))


async def choose_approval(
    context: CommandContext,
    screen: Screen,
    text: str,
    automatic: Sequence[str] | None,
    ask: Sequence[str] | None,
) -> int:
    """Sets the approval mode of actions."""
    async with context.doors.open(context.settings()) as services:
        proposal = await find_proposal(services, text)
        changed = await choose_approval_modes(services, proposal, automatic or (), ask or ())
        return await tell(services, screen, changed)


async def choose_approval_modes(
    services: ApplicationServices,
    proposal: dict[str, Any],
    automatic: Sequence[str],
    ask: Sequence[str],
) -> dict[str, Any]:
    """The proposal with these approval modes; each choice is by step, or by step and capability."""
    for mode, names in (("automatic", automatic), ("ask", ask)):
        for name in names:
            for write in find_chosen_writes(proposal["review"]["impact"]["writes"], name):
                edit = {"pointer": write["pointer"], "value": write["values"][mode]}
                proposal = await go_on(services, proposal, {"edits": [edit]})
    return proposal


def find_chosen_writes(writes: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    """The write that a step makes; of a step that makes several, the one that is named."""
    step, _, capability = name.partition(":")
    found = [one for one in writes if one["step"] == step]
    named = [one for one in found if one["capability"] == capability] if capability else found
    if len(named) == 1:
        return named
    if not writes:
        raise Invalid("It sends nothing outside, so there is nothing to choose.", code="no_write")
    if not found:
        way = f"There are: {', '.join(dict.fromkeys(one['step'] for one in writes))}."
        detail = f"No step {step!r} sends anything outside."
        raise Invalid(detail, code="no_write", suggestion=way)
    ways = ", ".join(f"{one['step']}:{one['capability']}" for one in found)
    detail = f"The step {step!r} sends in several ways, so name one of them."
    raise Invalid(detail, code="write_ambiguous", suggestion=f"There are: {ways}.")


async def save_by_digest(
    services: ApplicationServices, proposal: Mapping[str, Any], digest: str, note: str | None = None
) -> dict[str, Any]:
    """Keeps exactly what the digest stands for."""
    given = {"proposal_id": proposal["proposal_id"], "digest": digest}
    if note is not None:
        given["coexistence_note"] = note
    try:
        return await call(services, "save_proposal", given)
    except Conflict as problem:
        if problem.code == OVERLAP:
            way = hint("proposals", "save", proposal["proposal_id"], "--note", "WHY")
            problem.suggestion = f"Change that one instead, or say why both may live: {way}"
        raise


async def tell_saved(
    services: ApplicationServices,
    screen: Screen,
    proposal: Mapping[str, Any],
    saved: Mapping[str, Any],
) -> None:
    """What it became, and how it is set going."""
    if screen.for_programs:
        screen.answer({"proposal_id": proposal["proposal_id"], **saved})
        return
    words = await services.registry.of(services.workspace_id)
    screen.say(*saved_lines(saved, words, screen))
    if saved["state"] != "active":
        screen.say(f"  {hint('activate', saved['name'])}")


async def discard_proposal(context: CommandContext, screen: Screen, text: str) -> int:
    async with context.doors.open(context.settings()) as services:
        proposal = await find_proposal(services, text)
        given = {"proposal_id": proposal["proposal_id"]}
        done = await call(services, "discard_proposal", given)
    if screen.for_programs:
        screen.answer(done)
    else:
        screen.say("Discarded the proposal. Nothing was saved.")
    return exits.DONE
