"""The command line: which module declares which command.

Modules are imported when their command runs, so that help and usage errors are fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from mainspring import __version__
from mainspring.surfaces.cli.command_table import GROUPS
from mainspring.surfaces.cli.context import CommandContext, finish
from mainspring.surfaces.cli.options import KEPT, Json, get_context, help_alone, make_group
from mainspring.surfaces.cli.root_help import RootGroup
from mainspring.surfaces.cli.typer_functions import declared, declared_group
from mainspring.surfaces.cli.workspace_selection import FOR_PROGRAMS, select_workspace

if TYPE_CHECKING:
    from mainspring.surfaces.cli.factory import ApplicationFactory

_ABOUT = "Self-hosted automation engine."
_PANEL = "Server and administration"
_AUTOMATIONS = "Automations"
_MESSAGES = "Events and messages"

# The modules of commands in the order of the help, with the commands that each declares. One
# command is parsed without importing, or building the parsers of, all others. Commands under an
# empty module name come from the command table.
_EVERYDAY: Final[Mapping[str, tuple[str, ...]]] = {
    "authoring_app": ("new", "change", "review", "prompts"),
    "automations_app": (
        *("starter", "when", "validate", "save", "list", "show", "next", "activate", "pause"),
        *("acknowledge", "archive", "restore", "versions", "diff", "rollback", "export"),
        *("import", "webhook"),
    ),
    "rehearse_app": ("rehearse",),
    "codex_app": ("codex",),
    "runs_app": ("run", "fire", "runs", "logs", "cancel", "retry", "replay"),
    "capabilities_app": ("capabilities", "call", "mcp"),
}
_OPERATING: Final[Mapping[str, tuple[str, ...]]] = {
    "secrets_app": ("secrets",),
    "models_app": ("models",),
    "integrations_app": ("integrations",),
    "recipes_app": ("recipes",),
    "scaffold_app": ("scaffold",),
    "people_app": ("login", "logout", "sign-in", "email", "members", "workspaces", "tokens"),
    "backup_app": ("move", "migrate", "downgrade", "backup"),
    "shell_app": ("help", "version", "completion"),
}

# Commands of the table with their panels, in the order of the help.
_DECLARED: Final[Mapping[str, str]] = {
    "proposals": _AUTOMATIONS,
    "consents": _AUTOMATIONS,
    **dict.fromkeys(("events", "publish", "inbox", "drafts", "approvals", "rules"), _MESSAGES),
    **dict.fromkeys(("boards", "pages", "workflows"), KEPT),
    **dict.fromkeys(("halt", "release", "halts", "workers", "connections"), _PANEL),
}

# Options before the command that take a value.
_WITH_VALUE: Final = frozenset({"--home", "--server"})

Host = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Address to listen on. Default: MAINSPRING_HOST."),
]
Port = Annotated[
    int | None,
    typer.Option(
        min=0, max=65_535, help="Port to listen on. 0: any free port. Default: MAINSPRING_PORT."
    ),
]


class PublishedSchema(StrEnum):
    """The published schemas."""

    DEFINITION = "definition"
    FILTER = "filter"


def build_app(factory: ApplicationFactory, words: Sequence[str] = ()) -> typer.Typer:
    """The command line; with ``words``, only as much of it as reading these words takes."""
    app = make_group(_ABOUT, RootGroup)

    @app.callback(invoke_without_command=True, help=_ABOUT)
    def mainspring(
        ctx: typer.Context,
        version: Annotated[
            bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
        ] = False,
        home: Annotated[
            Path | None, typer.Option(help="The data folder. Default: MAINSPRING_HOME.")
        ] = None,
        no_color: Annotated[
            bool, typer.Option("--no-color", help="Disable colors, like NO_COLOR=1.")
        ] = False,
        for_programs: Annotated[
            bool,
            typer.Option("--json", help="Print JSON. Also allowed after the command."),
        ] = False,
        server: Annotated[
            str | None,
            typer.Option(
                metavar="ADDRESS",
                help="Use this server, with your session from `login`.",
            ),
        ] = None,
    ) -> None:
        # Given by the caller of the whole line: whether --json is anywhere in it.
        anywhere = for_programs or ctx.obj is FOR_PROGRAMS
        way_in = select_workspace(
            factory, ctx.invoked_subcommand, for_programs=anywhere, server=server
        )
        ctx.obj = CommandContext(
            way_in, home, no_color, for_programs, server, ctx.invoked_subcommand, anywhere
        )
        if version:
            typer.echo(f"mainspring {__version__}")
            raise typer.Exit
        help_alone(ctx)

    command = find_command(words)
    _add_commands(app, command if command in _module_of_each() else None)
    return app


def find_command(words: Sequence[str]) -> str | None:
    """The first word that is neither an option of the whole line nor the value of one."""
    rest = iter(words)
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            return word
    return None


def _module_of_each() -> dict[str, str]:
    """The module of each command that can be built alone; help is about all of them."""
    modules = {**_EVERYDAY, **_OPERATING, "": (*_DECLARED, *_SERVER)}
    found = {name: module for module, names in modules.items() for name in names}
    del found["help"]
    return found


def _add_commands(app: typer.Typer, only: str | None) -> None:
    """In the order in which a person meets them."""
    module = None if only is None else _module_of_each()[only]
    for name in _EVERYDAY:
        if module in (None, name):
            import_module(f"{__package__}.{name}").add_to(app)
    if module in (None, ""):
        for name, panel in _DECLARED.items():
            if name in GROUPS:
                app.add_typer(declared_group(name), name=name, rich_help_panel=panel)
            else:
                app.command(name=name, rich_help_panel=panel)(declared(name))
        for name, command in _SERVER.items():
            app.command(name=name, rich_help_panel=_PANEL)(command)
    for name in _OPERATING:
        if module in (None, name):
            import_module(f"{__package__}.{name}").add_to(app, _PANEL)
    if only is not None:
        app.registered_commands = [one for one in app.registered_commands if one.name == only]
        app.registered_groups = [one for one in app.registered_groups if one.name == only]


def _up(
    ctx: typer.Context,
    host: Host = None,
    port: Port = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="Worker processes. Default: MAINSPRING_WORKERS."),
    ] = None,
    show_token: Annotated[
        bool, typer.Option("--show-token", help="Print the owner's token, not only its file.")
    ] = False,
    for_programs: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line for each change.")
    ] = False,
) -> int:
    """Start the server: API, scheduler, workers and the embedded database.

    A process that exits unexpectedly is restarted. Ctrl-C or SIGTERM shuts down gracefully; a
    second Ctrl-C stops at once.
    """
    from mainspring.surfaces.cli.up import UpOptions, up

    context = get_context(ctx)
    options = UpOptions(host, port, workers, show_token)
    return up(context, context.screen(for_programs=for_programs), options)


def _schema(
    ctx: typer.Context,
    which: Annotated[
        PublishedSchema, typer.Argument(metavar="[definition|filter]", help="Which schema.")
    ] = PublishedSchema.DEFINITION,
    for_programs: Json = False,
) -> int:
    """Print the JSON Schema of definitions or of event filters."""
    from mainspring.surfaces.cli.validate import show_schema

    del for_programs  # The answer is JSON in any case.
    return show_schema(get_context(ctx).screen(), which.value)


def _sdk(
    ctx: typer.Context,
    types: Annotated[
        bool, typer.Option("--types", help="Only the types, as mainspring.d.ts for an editor.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """Print the TypeScript SDK for scripts."""
    from mainspring.surfaces.cli.validate import show_sdk

    context = get_context(ctx)
    return show_sdk(context, context.screen(for_programs=for_programs), types=types)


def _worker(
    ctx: typer.Context,
    queues: Annotated[
        str | None, typer.Option(help="Queues to work on: fast, medium, long. Default: all.")
    ] = None,
    slots: Annotated[int | None, typer.Option(min=1, help="Number of concurrent runs.")] = None,
) -> int:
    """Run one worker until Ctrl-C or SIGTERM."""
    from mainspring.surfaces.cli.worker import work

    context = get_context(ctx)
    return finish(work(context, context.screen(), queues=queues, slots=slots))


def _scheduler(ctx: typer.Context) -> int:
    """Run only the scheduler until Ctrl-C or SIGTERM."""
    from mainspring.surfaces.cli.parts import scheduler_alone

    context = get_context(ctx)
    return scheduler_alone(context, context.screen())


def _api(ctx: typer.Context, host: Host = None, port: Port = None) -> int:
    """Run only the API until Ctrl-C or SIGTERM."""
    from mainspring.surfaces.cli.parts import api_alone

    context = get_context(ctx)
    return api_alone(context, context.screen(), host=host, port=port)


def _token(
    ctx: typer.Context,
    show: Annotated[bool, typer.Option("--show", help="Print the token itself.")] = False,
    for_programs: Json = False,
) -> int:
    """Print where the owner's API token is stored."""
    from mainspring.surfaces.cli.owner_token import show_token

    context = get_context(ctx)
    return finish(show_token(context, context.screen(for_programs=for_programs), plain=show))


def _size(ctx: typer.Context, for_programs: Json = False) -> int:
    """Show the size of the database, its growth and its retention."""
    from mainspring.surfaces.cli.size import show_size

    context = get_context(ctx)
    return finish(show_size(context, context.screen(for_programs=for_programs)))


def _doctor(
    ctx: typer.Context,
    public: Annotated[
        bool, typer.Option("--public", help="Test the public address instead.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """Check this machine and the data folder, and suggest fixes."""
    from mainspring.surfaces.cli.doctor import examine

    context = get_context(ctx)
    return examine(context, context.screen(for_programs=for_programs), public=public)


_SERVER: Final[Mapping[str, Callable[..., int]]] = {
    "up": _up,
    "api": _api,
    "scheduler": _scheduler,
    "worker": _worker,
    "token": _token,
    "audit": declared("audit"),
    "usage": declared("usage"),
    "doctor": _doctor,
    "size": _size,
    "schema": _schema,
    "sdk": _sdk,
}
