"""The commands that turn words into automations, and their words."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.surfaces.cli.connection import finish_request
from mainspring.surfaces.cli.options import (
    Json,
    Named,
    get_context,
)
from mainspring.surfaces.cli.typer_functions import declared_group

if TYPE_CHECKING:
    from mainspring.surfaces.cli.proposals import GenerationOptions

_PANEL = "Automations"


class MadeBy(StrEnum):
    """Who may make a proposal."""

    AUTO = "auto"
    RULES = "rules"
    MODEL = "model"


By = Annotated[
    MadeBy | None,
    typer.Option(
        "--by",
        metavar="auto|rules|model",
        help="What creates it. auto: a model if one is connected, else built-in rules.",
    ),
]
Model = Annotated[
    str | None, typer.Option(metavar="NAME", help="The model to use. Default: the configured one.")
]
Automatic = Annotated[
    list[str] | None,
    typer.Option(
        "--automatic",
        metavar="STEP",
        help="Send without asking in this step. STEP:CAPABILITY names one of several actions.",
    ),
]
AskEach = Annotated[
    list[str] | None,
    typer.Option("--ask", metavar="STEP", help="Ask each time before this step sends."),
]
MaxUsd = Annotated[
    float | None,
    typer.Option("--max-usd", min=0.01, max=100, metavar="USD", help="Cost limit for models."),
]
Zone = Annotated[
    str | None,
    typer.Option(
        metavar="ZONE", help="Time zone, if the text names none. Default: the one of this machine."
    ),
]
Answers = Annotated[
    list[str] | None,
    typer.Option("--answer", metavar="ID=VALUE", help="Answer a question. Repeatable."),
]
Save = Annotated[
    bool,
    typer.Option("--save", help="Save it if no question is open."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the definition to this file instead of saving it.",
    ),
]
Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="WORDS", help="What to automate, and when."),
]


def add_to(app: typer.Typer) -> None:
    """Words come first: they are how most automations begin."""
    app.command(name="new", rich_help_panel=_PANEL)(_new)
    app.command(name="change", rich_help_panel=_PANEL)(_change)
    app.command(name="review", rich_help_panel=_PANEL)(_review)
    app.add_typer(declared_group("prompts"), name="prompts", rich_help_panel=_PANEL)


def making(by: MadeBy | None, model: str | None, max_usd: float | None) -> GenerationOptions:
    """Who shall make it, as the commands hand it on."""
    from mainspring.surfaces.cli.proposals import GenerationOptions

    return GenerationOptions(None if by is None else by.value, model, max_usd)


def _new(
    ctx: typer.Context,
    words: Words = None,
    timezone: Zone = None,
    by: By = None,
    model: Model = None,
    max_usd: MaxUsd = None,
    answer: Answers = None,
    save: Save = False,
    output: Output = None,
    for_programs: Json = False,
) -> int:
    """Create an automation from a description.

    You see a proposal with its steps and cost, answer open questions and save it. Nothing is
    saved before you agree. A new automation is paused. Without text, examples are listed.
    """
    from mainspring.surfaces.cli.new import NewAutomationOptions, new

    context = get_context(ctx)
    options = NewAutomationOptions(
        " ".join(words or ()),
        None,
        timezone,
        making(by, model, max_usd),
        tuple(answer or ()),
        save,
        output,
    )
    return finish_request(new(context, context.screen(for_programs=for_programs), options))


def _change(
    ctx: typer.Context,
    automation: Named,
    words: Annotated[list[str], typer.Argument(metavar="WORDS...", help="What to change.")],
    timezone: Zone = None,
    by: By = None,
    model: Model = None,
    max_usd: MaxUsd = None,
    answer: Answers = None,
    save: Save = False,
    output: Output = None,
    for_programs: Json = False,
) -> int:
    """Change an automation by describing the change, and save a new version."""
    from mainspring.contracts.errors import Invalid
    from mainspring.surfaces.cli.new import NewAutomationOptions, new

    text = " ".join(words).strip()
    if not text:
        raise Invalid("Describe what to change.", code="no_words")
    context = get_context(ctx)
    options = NewAutomationOptions(
        text, automation, timezone, making(by, model, max_usd), tuple(answer or ()), save, output
    )
    return finish_request(new(context, context.screen(for_programs=for_programs), options))


def _review(
    ctx: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="AUTOMATION|FILE", help="An automation, or a definition file (.json or .ts)."
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(metavar="AUTOMATION", help="Compare the file with this automation."),
    ] = None,
    automatic: Automatic = None,
    ask: AskEach = None,
    by: By = None,
    model: Model = None,
    max_usd: MaxUsd = None,
    for_programs: Json = False,
) -> int:
    """Review an automation or a file: what it does, costs and accesses."""
    from mainspring.surfaces.cli.proposal_saving import ApprovalModes
    from mainspring.surfaces.cli.review import review

    context = get_context(ctx)
    screen = context.screen(for_programs=for_programs)
    modes = ApprovalModes(tuple(automatic or ()), tuple(ask or ()))
    return finish_request(review(context, screen, what, to, making(by, model, max_usd), modes))
