"""The commands about questions of plans and standing rules, and their words."""

from __future__ import annotations

from typing import Annotated

import typer

from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import Json, Limit, make_group, open_context

_PANEL = "Events and messages"
Question = Annotated[
    str, typer.Argument(metavar="QUESTION", help="A question's id, or its first characters.")
]
Rule = Annotated[str, typer.Argument(metavar="RULE", help="A rule's id, or its first characters.")]


def add_to(app: typer.Typer) -> None:
    """Adds both groups."""
    app.add_typer(_approvals(), name="approvals", rich_help_panel=_PANEL)
    app.add_typer(_rules(), name="rules", rich_help_panel=_PANEL)


def _approvals() -> typer.Typer:
    group = make_group("List the questions that plans ask; answer one.")

    @group.callback(invoke_without_command=True)
    def approvals(ctx: typer.Context, limit: Limit = 20, for_programs: Json = False) -> int:
        """List the questions that plans ask; answer one."""
        if ctx.invoked_subcommand is not None:
            return 0
        from mainspring.surfaces.cli.approvals import show_approvals

        context, screen = open_context(ctx, for_programs)
        return finish(show_approvals(context, screen, most=limit))

    group.command(name="approve")(_approve)
    group.command(name="decline")(_decline)
    return group


def _approve(
    ctx: typer.Context,
    question: Question,
    answer: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="What its form asks for, such as '{\"day\": 3}'."),
    ] = None,
    for_programs: Json = False,
) -> int:
    """Say yes, with an answer where the question has a form."""
    from mainspring.surfaces.cli.approvals import answer_question

    context, screen = open_context(ctx, for_programs)
    return finish(answer_question(context, screen, question, approved=True, answer=answer))


def _decline(ctx: typer.Context, question: Question, for_programs: Json = False) -> int:
    """Say no."""
    from mainspring.surfaces.cli.approvals import answer_question

    context, screen = open_context(ctx, for_programs)
    return finish(answer_question(context, screen, question, approved=False, answer=None))


def _rules() -> typer.Typer:
    group = make_group("List standing rules; accept, decline or withdraw one.")

    @group.callback(invoke_without_command=True)
    def rules(ctx: typer.Context, for_programs: Json = False) -> int:
        """List standing rules; accept, decline or withdraw one."""
        if ctx.invoked_subcommand is not None:
            return 0
        from mainspring.surfaces.cli.approvals import show_rules

        context, screen = open_context(ctx, for_programs)
        return finish(show_rules(context, screen))

    group.command(name="accept")(_accept)
    group.command(name="refuse")(_refuse)
    group.command(name="withdraw")(_withdraw)
    return group


def _accept(ctx: typer.Context, rule: Rule, for_programs: Json = False) -> int:
    """Let drafts of exactly this shape go without asking."""
    return _decide(ctx, rule, "accept", for_programs=for_programs)


def _refuse(ctx: typer.Context, rule: Rule, for_programs: Json = False) -> int:
    """Go on being asked; it is not proposed again."""
    return _decide(ctx, rule, "decline", for_programs=for_programs)


def _withdraw(ctx: typer.Context, rule: Rule, for_programs: Json = False) -> int:
    """From here on every draft waits for a person again."""
    return _decide(ctx, rule, "withdraw", for_programs=for_programs)


def _decide(ctx: typer.Context, rule: str, what: str, *, for_programs: bool) -> int:
    from mainspring.surfaces.cli.approvals import decide

    context, screen = open_context(ctx, for_programs)
    return finish(decide(context, screen, rule, what))
