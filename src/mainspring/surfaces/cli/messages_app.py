"""The commands about events and messages, and their words."""

from __future__ import annotations

from typing import Annotated

import typer

from mainspring.surfaces.cli import drafts_app
from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.options import Json, Limit, make_group, open_context

_PANEL = "Events and messages"


def add_to(app: typer.Typer) -> None:
    """Facts first, then what is left for people."""
    app.add_typer(_events(), name="events", rich_help_panel=_PANEL)
    app.command(name="publish", rich_help_panel=_PANEL)(_publish)
    app.add_typer(_inbox(), name="inbox", rich_help_panel=_PANEL)
    app.add_typer(drafts_app.build(), name="drafts", rich_help_panel=_PANEL)


EventId = Annotated[
    str, typer.Argument(metavar="EVENT", help="An event's id, or its first characters.")
]


def _events() -> typer.Typer:
    group = make_group("List events, the newest first; show one, or tell of it once more.")

    @group.callback(invoke_without_command=True)
    def events(
        ctx: typer.Context,
        kind: Annotated[
            str | None, typer.Option("--type", help="Only events of this type.")
        ] = None,
        limit: Limit = 20,
        for_programs: Json = False,
    ) -> int:
        """List events, the newest first; show one, or tell of it once more."""
        if ctx.invoked_subcommand is not None:
            return 0
        from mainspring.surfaces.cli.events import show_events

        context, screen = open_context(ctx, for_programs)
        return finish(show_events(context, screen, kind=kind, most=limit))

    group.command(name="show")(_show_event)
    group.command(name="replay")(_replay_event)
    return group


def _show_event(ctx: typer.Context, event: EventId, for_programs: Json = False) -> int:
    """Show an event and what it set off."""
    from mainspring.surfaces.cli.events import show_event

    context, screen = open_context(ctx, for_programs)
    return finish(show_event(context, screen, event))


def _replay_event(ctx: typer.Context, event: EventId, for_programs: Json = False) -> int:
    """Tell of an event once more, to the triggers of today."""
    from mainspring.surfaces.cli.events import tell_once_more

    context, screen = open_context(ctx, for_programs)
    return finish(tell_once_more(context, screen, event))


def _publish(
    ctx: typer.Context,
    event_type: Annotated[
        str, typer.Argument(metavar="TYPE", help="What happened, such as orders.paid.")
    ],
    payload: Annotated[
        str | None, typer.Option(metavar="JSON", help="What there is to say, as a JSON object.")
    ] = None,
    source: Annotated[str, typer.Option(metavar="NAME", help="What it happened to.")] = "cli",
    for_programs: Json = False,
) -> int:
    """Tell of an event; the triggers of active automations may go off on it."""
    from mainspring.surfaces.cli.events import tell

    context, screen = open_context(ctx, for_programs)
    return finish(tell(context, screen, event_type, payload, source))


def _inbox() -> typer.Typer:
    group = make_group("Show the messages that automations left, the newest first.")

    @group.callback(invoke_without_command=True)
    def inbox(
        ctx: typer.Context,
        unread: Annotated[bool, typer.Option("--unread", help="Only what nobody read.")] = False,
        limit: Limit = 20,
        for_programs: Json = False,
    ) -> int:
        """Show the messages that automations left, the newest first."""
        if ctx.invoked_subcommand is not None:
            return 0
        from mainspring.surfaces.cli.inbox import show_inbox

        context, screen = open_context(ctx, for_programs)
        return finish(show_inbox(context, screen, unread=unread, most=limit))

    group.command(name="read")(_read_message)
    group.command(name="prompts")(_prompts)
    return group


def _prompts(ctx: typer.Context, limit: Limit = 20, for_programs: Json = False) -> int:
    """Print what waits for you, each with a marker, as a session begins with it."""
    from mainspring.surfaces.cli.inbox_prompts import show_prompts

    context, screen = open_context(ctx, for_programs)
    return finish(show_prompts(context, screen, most=limit))


def _read_message(
    ctx: typer.Context,
    message: Annotated[
        str | None,
        typer.Argument(metavar="MESSAGE", help="A message's id, or its first characters."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that are there.")] = False,
    for_programs: Json = False,
) -> int:
    """Mark a message as read, or all of them."""
    from mainspring.surfaces.cli.inbox import read_messages

    context, screen = open_context(ctx, for_programs)
    return finish(read_messages(context, screen, message, everything=everything))
