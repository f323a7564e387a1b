"""The commands about drafts, and their words."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import Json, Limit, make_group, open_context


class DraftState(StrEnum):
    """What became of a draft."""

    PENDING = "pending"
    EXPIRED = "expired"
    SENDING = "sending"
    CONFIRMED = "confirmed"
    FAILED = "failed"
    DISCARDED = "discarded"


DraftId = Annotated[
    str, typer.Argument(metavar="DRAFT", help="A draft's id, or its first characters.")
]
BatchId = Annotated[str, typer.Argument(metavar="BATCH", help="A batch's id.")]
Edits = Annotated[
    list[str] | None,
    typer.Option(
        "--edit", metavar="FIELD=VALUE", help="Other words for one field; may be given again."
    ),
]
Seen = Annotated[
    str | None,
    typer.Option("--hash", metavar="HASH", help="The hash of the wording that you saw."),
]
Reason = Annotated[str | None, typer.Option(metavar="TEXT", help="Why, for whoever asks later.")]


def build() -> typer.Typer:
    """The group of all commands about drafts."""
    group = make_group("List the outside writes that were held; show, edit or answer one.")

    @group.callback(invoke_without_command=True)
    def drafts(
        ctx: typer.Context,
        status: Annotated[
            DraftState | None, typer.Option("--status", help="Only drafts in this status.")
        ] = None,
        limit: Limit = 20,
        for_programs: Json = False,
    ) -> int:
        """List the outside writes that were held; show, edit or answer one."""
        if ctx.invoked_subcommand is not None:
            return 0
        from mainspring.surfaces.cli.drafts import show_drafts

        context, screen = open_context(ctx, for_programs)
        return finish(show_drafts(context, screen, status and status.value, most=limit))

    for name, command in (
        ("show", _show),
        ("edit", _edit),
        ("confirm", _confirm),
        ("discard", _discard),
        ("redraft", _redraft),
        ("confirm-batch", _confirm_batch),
        ("discard-batch", _discard_batch),
    ):
        group.command(name=name)(command)
    return group


def _show(ctx: typer.Context, draft: DraftId, for_programs: Json = False) -> int:
    """Show a draft as it would be delivered, and all that would leave."""
    from mainspring.surfaces.cli.drafts import show_draft

    context, screen = open_context(ctx, for_programs)
    return finish(show_draft(context, screen, draft))


def _edit(
    ctx: typer.Context, draft: DraftId, edits: Edits = None, for_programs: Json = False
) -> int:
    """Give a draft other words; nothing is sent."""
    from mainspring.surfaces.cli.drafts import edit_draft

    context, screen = open_context(ctx, for_programs)
    return finish(edit_draft(context, screen, draft, edits or []))


def _confirm(
    ctx: typer.Context,
    draft: DraftId,
    edits: Edits = None,
    seen: Seen = None,
    for_programs: Json = False,
) -> int:
    """Send what a draft shows, once; with --edit, in the words that you give."""
    from mainspring.surfaces.cli.drafts import confirm_draft

    context, screen = open_context(ctx, for_programs)
    return finish(confirm_draft(context, screen, draft, edits or [], seen))


def _discard(
    ctx: typer.Context, draft: DraftId, reason: Reason = None, for_programs: Json = False
) -> int:
    """Let go of a draft; nothing is sent."""
    from mainspring.surfaces.cli.drafts import discard_draft

    context, screen = open_context(ctx, for_programs)
    return finish(discard_draft(context, screen, draft, reason))


def _redraft(ctx: typer.Context, draft: DraftId, for_programs: Json = False) -> int:
    """Draft it again, in the same words: it waits for a yes, and nothing is sent."""
    from mainspring.surfaces.cli.drafts import repeat_draft

    context, screen = open_context(ctx, for_programs)
    return finish(repeat_draft(context, screen, draft))


def _confirm_batch(ctx: typer.Context, batch: BatchId, for_programs: Json = False) -> int:
    """Send all drafts of one batch, one after the other."""
    from mainspring.surfaces.cli.draft_batches import answer_batch

    context, screen = open_context(ctx, for_programs)
    return finish(answer_batch(context, screen, batch, sends=True, reason=None))


def _discard_batch(
    ctx: typer.Context, batch: BatchId, reason: Reason = None, for_programs: Json = False
) -> int:
    """Let go of all drafts of one batch."""
    from mainspring.surfaces.cli.draft_batches import answer_batch

    context, screen = open_context(ctx, for_programs)
    return finish(answer_batch(context, screen, batch, sends=False, reason=reason))
