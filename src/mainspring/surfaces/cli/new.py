"""``new`` and ``change``: words become a proposal, which somebody reads and saves.

At a terminal this is a conversation. Anywhere else all of it is printed, and the commands that
go on with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mainspring.authoring.phrases.zones import is_zone
from mainspring.contracts.errors import Finding, Invalid, Problem
from mainspring.settings import machine_zone
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.conversation import ProposalConversation, converse, thinking
from mainspring.surfaces.cli.documents import is_storable
from mainspring.surfaces.cli.files import write_file
from mainspring.surfaces.cli.formatting import count, hint
from mainspring.surfaces.cli.lookup import find_in_use_at
from mainspring.surfaces.cli.person_prompt import check_person
from mainspring.surfaces.cli.prompts import choose_request, show_prompts
from mainspring.surfaces.cli.proposal_saving import BY_PEOPLE, confirm_and_save
from mainspring.surfaces.cli.proposal_view import definition_text
from mainspring.surfaces.cli.proposals import (
    GenerationOptions,
    apply_answer_words,
    tell,
)
from mainspring.surfaces.cli.screen import Screen, clean
from mainspring.surfaces.cli.terminal_prompt import Ask, TerminalPrompt, at_terminal

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient


@dataclass(frozen=True, slots=True)
class NewAutomationOptions:
    """What somebody asks for, and how far the command shall go with it."""

    text: str
    # The automation that the words change, as a person names it.
    automation: str | None = None
    timezone: str | None = None
    making: GenerationOptions = field(default_factory=GenerationOptions)
    answers: tuple[str, ...] = ()
    save: bool = False
    output: Path | None = None


async def propose_by_options(
    context: CommandContext,
    screen: Screen,
    *,
    automation: str | None = None,
    words: Sequence[str] | None,
    timezone: str | None,
    by: str | None,
    model: str | None,
    max_usd: float | None,
    answers: Sequence[str] | None,
    save: bool,
    output: str | None,
) -> int:
    text = " ".join(words or ())
    if automation is not None and not text.strip():
        raise Invalid("Describe what to change.", code="no_words")
    options = NewAutomationOptions(
        text if automation is None else text.strip(),
        automation,
        timezone,
        GenerationOptions(by, model, max_usd),
        tuple(answers or ()),
        save,
        None if output is None else Path(output),
    )
    return await new(context, screen, options)


async def new(
    context: CommandContext, screen: Screen, options: NewAutomationOptions, ask: Ask | None = None
) -> int:
    """Proposes, and goes on from there."""
    zone = _zone(options.timezone)
    _check_words(options)
    if options.save and options.output is not None:
        raise Invalid("Either --save or --output, not both.", code="usage")
    talks = ask is not None or at_terminal(screen)
    async with open_client(context) as client:
        text = options.text.strip()
        if not text:
            if not talks:
                return await show_prompts(client, screen)
            asking = ask or TerminalPrompt(screen)
            text = await choose_request(client, screen, asking) or ""
            if not text:
                return exits.DONE
        proposal = await _proposed(context, client, screen, options, text, zone)
        if options.save:
            return await _save_at_once(client, screen, proposal, ask)
        if options.output is not None:
            talk = (ask or TerminalPrompt(screen)) if talks else None
            return await _write(context, client, screen, options, proposal, talk)
        if talks:
            return await converse(context, client, screen, proposal, making=options.making, ask=ask)
        return await tell(client, screen, proposal)


def _zone(given: str | None) -> str | None:
    """The zone for words that name none: as said, else as the machine knows it."""
    if given is None:
        found = machine_zone()
        return found if found is not None and is_zone(found) else None
    if not is_zone(given):
        detail = "There is no time zone of this name."
        finding = Finding("/timezone", detail, "unknown_timezone", "Such as Europe/Berlin.")
        raise Invalid(detail, code="unknown_timezone", findings=[finding])
    return given


def _check_words(options: NewAutomationOptions) -> None:
    if not is_storable(options.text):
        detail = "The description must be text."
        raise Invalid(detail, code="no_words", findings=[Finding("/text", detail, "no_words")])


async def _proposed(
    context: CommandContext,
    client: ApiClient,
    screen: Screen,
    options: NewAutomationOptions,
    text: str,
    zone: str | None,
) -> dict[str, Any]:
    arguments: dict[str, Any] = {"text": text, **options.making.arguments()}
    if zone is not None:
        arguments["timezone"] = zone
    if options.automation is not None:
        found = await find_in_use_at(client, options.automation)
        arguments["automation_id"] = str(found["id"])
    proposal = await thinking(screen, client.call("propose_automation", arguments))
    if not options.answers:
        return proposal
    try:
        return await apply_answer_words(client, proposal, options.answers, context.limits())
    except Problem as problem:
        kept = f"The proposal stays open: {hint('proposals', 'show', proposal['proposal_id'])}"
        problem.suggestion = f"{problem.suggestion} {kept}" if problem.suggestion else kept
        raise


async def _save_at_once(
    client: ApiClient, screen: Screen, proposal: Mapping[str, Any], ask: Ask | None
) -> int:
    """For somebody who wants no conversation: it is shown once, asked about, and saved."""
    check_person(client, screen, ask, BY_PEOPLE, f"/proposals/{proposal['proposal_id']}")
    if proposal["status"] != "ready":
        raise _not_ready(proposal)
    return await confirm_and_save(client, screen, proposal, proposal["digest"], ask=ask)


def _not_ready(proposal: Mapping[str, Any]) -> Invalid:
    name, asked = proposal["proposal_id"], proposal["questions"]
    if asked:
        findings = [
            Finding(f"/answers/{one['id']}", one["question"], "unanswered") for one in asked
        ]
        detail = f"It is not saved: {count(len(asked), 'question is', 'questions are')} open."
        way = hint("proposals", "answer", name, *(f"{one['id']}=VALUE" for one in asked[:5]))
    else:
        findings = [
            Finding(one["pointer"], one["detail"], one["code"], one.get("suggestion"))
            for one in proposal["problems"]
        ]
        detail = "It is not saved: there is something wrong with it."
        way = hint("proposals", "refine", name, "what should be different")
    return Invalid(detail, code="not_ready", findings=findings, suggestion=way)


async def _write(
    context: CommandContext,
    client: ApiClient,
    screen: Screen,
    options: NewAutomationOptions,
    proposal: Mapping[str, Any],
    ask: Ask | None,
) -> int:
    """The definition as a file; what is still open is missing in it."""
    assert options.output is not None
    if ask is not None:
        talk = ProposalConversation(context, client, screen, ask, options.making)
        proposal = await talk.answered(proposal)
    elif not screen.for_programs:
        await tell(client, screen, proposal)
    text = definition_text(proposal) + "\n"
    write_file(options.output, text, suggestion="Choose another file with --output.")
    missing = len(proposal["questions"])
    if screen.for_programs:
        screen.answer({"file": str(options.output), **proposal})
    else:
        lacks = f" It lacks {count(missing, 'value')} for the questions." if missing else ""
        screen.say("", f"Wrote {clean(str(options.output))}.{lacks}")
        screen.say(f"  {hint('validate', options.output)}", f"  {hint('save', options.output)}")
    return exits.INVALID if proposal["problems"] else exits.DONE
