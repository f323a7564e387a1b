"""The commands about the codex, and their words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from mainspring.surfaces.cli.connection import finish_request
from mainspring.surfaces.cli.options import Json, make_group, open_context
from mainspring.surfaces.cli.recipes_app import RecipeKindOption

_PANEL = "Automations"

Slug = Annotated[
    str, typer.Argument(metavar="RECIPE", help="The slug of a recipe. `codex list` shows all.")
]
Installed = Annotated[
    str,
    typer.Argument(metavar="INSTALL", help="A name, an id or its first characters."),
]


def add_to(app: typer.Typer) -> None:
    """Adds the group of commands about the codex."""
    group = make_group("Recipes to install, upgrade and take back.")

    @group.callback(invoke_without_command=True)
    def codex(ctx: typer.Context, for_programs: Json = False) -> int:
        """Recipes to install, upgrade and take back."""
        if ctx.invoked_subcommand is not None:
            return 0
        return _list(ctx, for_programs=for_programs)

    commands: dict[str, Callable[..., int]] = {
        "list": _list,
        "show": _show,
        "needs": _needs,
        "apply": _apply,
        "installs": _installs,
        "check": _check,
        "upgrade": _upgrade,
        "uninstall": _uninstall,
        "uninstalled": _uninstalled,
        "recover": _recover,
        "publish": _publish,
    }
    for name, command in commands.items():
        group.command(name=name)(command)
    app.add_typer(group, name="codex", rich_help_panel=_PANEL)


def _list(
    ctx: typer.Context,
    search: Annotated[str | None, typer.Argument(metavar="[WORDS]", help="Search for.")] = None,
    kind: Annotated[RecipeKindOption | None, typer.Option(help="Only these.")] = None,
    category: Annotated[str | None, typer.Option(metavar="TEXT", help="Only these.")] = None,
    tag: Annotated[str | None, typer.Option(metavar="TEXT", help="Only these.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="So many at most.")] = 100,
    for_programs: Json = False,
) -> int:
    """List the recipes of the codex."""
    from mainspring.surfaces.cli.codex import list_recipes

    context, screen = open_context(ctx, for_programs)
    asked = {"search": search, "kind": kind and str(kind), "category": category, "tag": tag}
    given = {name: value for name, value in asked.items() if value is not None}
    return finish_request(list_recipes(context, screen, {**given, "limit": limit}))


def _show(ctx: typer.Context, recipe: Slug, for_programs: Json = False) -> int:
    """Show a recipe: what it makes, what it may do, and what it needs."""
    from mainspring.surfaces.cli.codex import show_recipe

    context, screen = open_context(ctx, for_programs)
    return finish_request(show_recipe(context, screen, recipe))


def _needs(ctx: typer.Context, recipe: Slug, for_programs: Json = False) -> int:
    """See which recipes a recipe needs, and which of them are here."""
    from mainspring.surfaces.cli.codex import show_needs

    context, screen = open_context(ctx, for_programs)
    return finish_request(show_needs(context, screen, recipe))


def _apply(
    ctx: typer.Context,
    recipe: Slug,
    name: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Call what it makes this.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the recipe."),
    ] = None,
    for_programs: Json = False,
) -> int:
    """Install a recipe, with all that it needs. Automations are paused at first."""
    from mainspring.surfaces.cli.codex import apply_recipe

    context, screen = open_context(ctx, for_programs)
    return finish_request(apply_recipe(context, screen, recipe, name, setting or []))


def _installs(ctx: typer.Context, for_programs: Json = False) -> int:
    """List what is installed, and what can be upgraded."""
    from mainspring.surfaces.cli.codex import list_installs

    context, screen = open_context(ctx, for_programs)
    return finish_request(list_installs(context, screen))


def _check(ctx: typer.Context, install: Installed, for_programs: Json = False) -> int:
    """See what an upgrade would change, and what you have changed yourself."""
    from mainspring.surfaces.cli.codex import check_upgrade

    context, screen = open_context(ctx, for_programs)
    return finish_request(check_upgrade(context, screen, install))


def _upgrade(
    ctx: typer.Context,
    install: Installed,
    force: Annotated[
        bool, typer.Option("--force", help="Throw away what you have changed yourself.")
    ] = False,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting; the others stay."),
    ] = None,
    for_programs: Json = False,
) -> int:
    """Rebuild an install from the newest version of its recipe."""
    from mainspring.surfaces.cli.codex import upgrade

    context, screen = open_context(ctx, for_programs)
    return finish_request(upgrade(context, screen, install, setting or [], force=force))


def _uninstall(
    ctx: typer.Context,
    install: Installed,
    keep_members: Annotated[
        bool, typer.Option("--keep-members", help="Of a bundle, only the bundle itself.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask, also when something here uses it.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """Take an install away at once. It can be recovered for seven days."""
    from mainspring.surfaces.cli.codex import uninstall

    context, screen = open_context(ctx, for_programs)
    return finish_request(uninstall(context, screen, install, cascade=not keep_members, sure=yes))


def _uninstalled(ctx: typer.Context, for_programs: Json = False) -> int:
    """List what can be recovered, and until when."""
    from mainspring.surfaces.cli.codex import list_uninstalled

    context, screen = open_context(ctx, for_programs)
    return finish_request(list_uninstalled(context, screen))


def _recover(ctx: typer.Context, install: Installed, for_programs: Json = False) -> int:
    """Bring back what was uninstalled. Automations come back paused."""
    from mainspring.surfaces.cli.codex import recover

    context, screen = open_context(ctx, for_programs)
    return finish_request(recover(context, screen, install))


def _publish(
    ctx: typer.Context,
    place: Annotated[
        Path, typer.Argument(metavar="PLACE", help="A folder, a .zip or a .json of one recipe.")
    ],
    shared: Annotated[
        bool, typer.Option("--shared", help="For every workspace of this installation.")
    ] = False,
    for_programs: Json = False,
) -> int:
    """Put a version of a recipe on the codex."""
    from mainspring.surfaces.cli.codex import publish

    context, screen = open_context(ctx, for_programs)
    return finish_request(publish(context, screen, place, shared=shared))
