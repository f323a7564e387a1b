"""The commands about proposals, and their words."""

from __future__ import annotations

from typing import Annotated

import typer

from mainspring.surfaces.cli.authoring_app import AskEach, Automatic, By, MaxUsd, Model, making
from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import Json, help_alone, make_group, open_context

Proposal = Annotated[
    str,
    typer.Argument(metavar="PROPOSAL", help="A proposal's id, its first characters, or `last`."),
]


def add_to(app: typer.Typer) -> None:
    """Adds the group of commands about proposals."""
    group = make_group("What was made of words and waits for you: read it, answer, save.")

    @group.callback(invoke_without_command=True)
    def proposals(ctx: typer.Context) -> None:
        """What was made of words and waits for you: read it, answer, save."""
        help_alone(ctx)

    group.command(name="list")(_list)
    group.command(name="show")(_show)
    group.command(name="answer")(_answer)
    group.command(name="refine")(_refine)
    group.command(name="edit")(_edit)
    group.command(name="approval")(_approval)
    group.command(name="save")(_save)
    group.command(name="discard")(_discard)
    app.add_typer(group, name="proposals", rich_help_panel="Automations")


def _list(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many at most.")] = 20,
    for_programs: Json = False,
) -> int:
    """List the proposals that wait, the newest first."""
    from mainspring.surfaces.cli.proposals import show_proposals

    context, screen = open_context(ctx, for_programs)
    return finish(show_proposals(context, screen, limit))


def _show(ctx: typer.Context, proposal: Proposal, for_programs: Json = False) -> int:
    """Show a proposal: what it does, costs and reaches, what it asks, how to go on."""
    from mainspring.surfaces.cli.proposals import show_proposal

    context, screen = open_context(ctx, for_programs)
    return finish(show_proposal(context, screen, proposal))


def _answer(
    ctx: typer.Context,
    proposal: Proposal,
    answers: Annotated[
        list[str],
        typer.Argument(metavar="ID=VALUE", help="Answers as ID=VALUE, by the questions' ids."),
    ],
    for_programs: Json = False,
) -> int:
    """Answer open questions: with a value, or the number or the words of a choice."""
    from mainspring.surfaces.cli.proposals import answer_proposal

    context, screen = open_context(ctx, for_programs)
    return finish(answer_proposal(context, screen, proposal, answers))


def _refine(
    ctx: typer.Context,
    proposal: Proposal,
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS...", help="What should be different.")
    ],
    by: By = None,
    model: Model = None,
    max_usd: MaxUsd = None,
    for_programs: Json = False,
) -> int:
    """Change a proposal in words."""
    from mainspring.surfaces.cli.proposals import refine_proposal

    context, screen = open_context(ctx, for_programs)
    how = making(by, model, max_usd)
    return finish(refine_proposal(context, screen, proposal, " ".join(words), how))


def _edit(
    ctx: typer.Context,
    proposal: Proposal,
    edits: Annotated[
        list[str] | None,
        typer.Argument(metavar="POINTER=JSON", help="Values as POINTER=JSON: what goes where."),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", metavar="POINTER", help="Take this out; may be given again."),
    ] = None,
    for_programs: Json = False,
) -> int:
    """Put values into the definition of a proposal, or take them out."""
    from mainspring.surfaces.cli.proposals import edit_proposal

    context, screen = open_context(ctx, for_programs)
    return finish(edit_proposal(context, screen, proposal, edits or (), remove or ()))


def _approval(
    ctx: typer.Context,
    proposal: Proposal,
    automatic: Automatic = None,
    ask: AskEach = None,
    for_programs: Json = False,
) -> int:
    """Choose which outside writes are sent automatically and which ask you each time."""
    from mainspring.surfaces.cli.proposals import choose_approval

    context, screen = open_context(ctx, for_programs)
    return finish(choose_approval(context, screen, proposal, automatic or (), ask or ()))


def _save(
    ctx: typer.Context,
    proposal: Proposal,
    digest: Annotated[
        str | None,
        typer.Option(metavar="DIGEST", help="The digest of what you have read: just that."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Show it once and ask once, without a talk.")
    ] = False,
    note: Annotated[
        str | None,
        typer.Option(metavar="WHY", help="Why it may live beside one that writes the same."),
    ] = None,
    automatic: Automatic = None,
    ask: AskEach = None,
    for_programs: Json = False,
) -> int:
    """Save a proposal that you have read: a paused automation, or the next version of one."""
    from mainspring.surfaces.cli.proposal_saving import ApprovalModes, save_proposal

    context, screen = open_context(ctx, for_programs)
    modes = ApprovalModes(tuple(automatic or ()), tuple(ask or ()))
    return finish(
        save_proposal(context, screen, proposal, digest=digest, sure=yes, note=note, modes=modes)
    )


def _discard(ctx: typer.Context, proposal: Proposal, for_programs: Json = False) -> int:
    """Throw a proposal away."""
    from mainspring.surfaces.cli.proposals import discard_proposal

    context, screen = open_context(ctx, for_programs)
    return finish(discard_proposal(context, screen, proposal))
