"""Proposals by command: listed, shown, answered, changed, saved and thrown away.

The commands call the same capabilities as every other surface. A person at the terminal reads a
proposal and agrees to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, Invalid
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.answers import read_answers, read_edits
from mainspring.surfaces.cli.columns import columns, format_time, short_id
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import hint
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
    from rich.text import Text

    from mainspring.contracts.limits import Limits
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient
    from mainspring.surfaces.cli.summary import Labels

LAST: Final = "last"
# What the refusal is called when another automation writes the same way.
OVERLAP: Final = "overlap"


@dataclass(frozen=True, slots=True)
class GenerationOptions:
    """Who shall make or change a proposal, and for how much."""

    by: str | None = None
    model: str | None = None
    max_usd: float | None = None

    def arguments(self) -> dict[str, Any]:
        said = {"by": self.by, "model": self.model, "max_usd": self.max_usd}
        return {name: one for name, one in said.items() if one is not None}


async def find_proposal(client: ApiClient, text: str) -> dict[str, Any]:
    """The proposal that is meant: by its id, the id's first characters, or ``last``."""

    async def page(before: UUID | None) -> Sequence[UUID]:
        given = {"limit": 2, "saved": True} | ({} if before is None else {"after": str(before)})
        found = await client.call("list_proposals", given)
        return [UUID(one["proposal_id"]) for one in found["proposals"]]

    newest = await page(None) if text == LAST else ()
    found = newest[0] if newest else await find_one(text, page, lambda one: one, kind="proposal")
    return await client.call("get_proposal", {"proposal_id": str(found)})


async def read_labels(client: ApiClient, widened: Sequence[Mapping[str, Any]] | None) -> Labels:
    """What the capabilities of these grants are called; nothing is asked where there are none."""
    if not widened:
        return {}
    listed = await client.request("GET", "/capabilities", query={"all": "true"})
    return {one["id"]: one["label"] for one in listed["capabilities"]}


async def render_proposal(
    client: ApiClient, screen: Screen, proposal: Mapping[str, Any]
) -> list[Text]:
    """All that somebody should read of a proposal before they agree."""
    change = (proposal.get("review") or {}).get("change") or {}
    return proposal_lines(proposal, await read_labels(client, change.get("widened")), screen)


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


async def tell(client: ApiClient, screen: Screen, proposal: Mapping[str, Any]) -> int:
    """The whole of it, what is open and how to go on; for a program, the proposal."""
    if screen.for_programs:
        screen.answer(proposal)
    else:
        screen.say(*await render_proposal(client, screen, proposal))
        screen.say(*open_lines(proposal, screen), *next_lines(proposal))
    return exits.INVALID if proposal["problems"] else exits.DONE


async def show_proposal(context: CommandContext, screen: Screen, text: str) -> int:
    async with open_client(context) as client:
        await tell(client, screen, await find_proposal(client, text))
    return exits.DONE


async def answer_proposal(
    context: CommandContext, screen: Screen, text: str, words: Sequence[str]
) -> int:
    """Answers some of its questions, all at once or not at all."""
    async with open_client(context) as client:
        proposal = await find_proposal(client, text)
        changed = await apply_answer_words(client, proposal, words, context.limits())
        return await tell(client, screen, changed)


async def apply_answer_words(
    client: ApiClient, proposal: Mapping[str, Any], words: Sequence[str], limits: Limits
) -> dict[str, Any]:
    """The proposal with answers that were given as ``ID=VALUE``."""
    answers = read_answers(words, proposal["questions"], limits)
    return await go_on(client, proposal, {"answers": answers})


async def go_on(
    client: ApiClient, proposal: Mapping[str, Any], change: Mapping[str, Any]
) -> dict[str, Any]:
    """The proposal after a change of just what was read."""
    given = {"proposal_id": proposal["proposal_id"], "revision": proposal["revision"], **change}
    return await client.call("refine_proposal", given)


async def refine_proposal(
    context: CommandContext, screen: Screen, text: str, instruction: str, making: GenerationOptions
) -> int:
    """Changes it in words."""
    async with open_client(context) as client:
        proposal = await find_proposal(client, text)
        change = {"instruction": instruction, **making.arguments()}
        return await tell(client, screen, await go_on(client, proposal, change))


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
    async with open_client(context) as client:
        proposal = await find_proposal(client, text)
        return await tell(client, screen, await go_on(client, proposal, {"edits": edits}))


async def choose_approval(
    context: CommandContext,
    screen: Screen,
    text: str,
    automatic: Sequence[str] | None,
    ask: Sequence[str] | None,
) -> int:
    """Sets the approval mode of actions."""
    async with open_client(context) as client:
        proposal = await find_proposal(client, text)
        changed = await choose_approval_modes(client, proposal, automatic or (), ask or ())
        return await tell(client, screen, changed)


async def choose_approval_modes(
    client: ApiClient,
    proposal: dict[str, Any],
    automatic: Sequence[str],
    ask: Sequence[str],
) -> dict[str, Any]:
    """The proposal with these approval modes; each choice is by step, or by step and capability."""
    for mode, names in (("automatic", automatic), ("ask", ask)):
        for name in names:
            for write in find_chosen_writes(proposal["review"]["impact"]["writes"], name):
                edit = {"pointer": write["pointer"], "value": write["values"][mode]}
                proposal = await go_on(client, proposal, {"edits": [edit]})
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
    client: ApiClient, proposal: Mapping[str, Any], digest: str, note: str | None = None
) -> dict[str, Any]:
    """Keeps exactly what the digest stands for."""
    given = {"proposal_id": proposal["proposal_id"], "digest": digest}
    if note is not None:
        given["coexistence_note"] = note
    try:
        return await client.call("save_proposal", given, confirmed=True)
    except Conflict as problem:
        if problem.code == OVERLAP:
            way = hint("proposals", "save", proposal["proposal_id"], "--note", "WHY")
            problem.suggestion = f"Change that one instead, or say why both may live: {way}"
        raise


async def tell_saved(
    client: ApiClient,
    screen: Screen,
    proposal: Mapping[str, Any],
    saved: Mapping[str, Any],
) -> None:
    """What it became, and how it is set going."""
    if screen.for_programs:
        screen.answer({"proposal_id": proposal["proposal_id"], **saved})
        return
    labels = await read_labels(client, saved["widened"])
    screen.say(*saved_lines(saved, labels, screen))
    if saved["state"] != "active":
        screen.say(f"  {hint('activate', saved['name'])}")


async def discard_proposal(context: CommandContext, screen: Screen, text: str) -> int:
    async with open_client(context) as client:
        proposal = await find_proposal(client, text)
        given = {"proposal_id": proposal["proposal_id"]}
        done = await client.call("discard_proposal", given)
    if screen.for_programs:
        screen.answer(done)
    else:
        screen.say("Discarded the proposal. Nothing was saved.")
    return exits.DONE
