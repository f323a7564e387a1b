"""The commands for whoever writes recipes, and their words."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mainspring.surfaces.cli.options import Json, get_context, make_group, open_context

Place = Annotated[
    Path, typer.Argument(metavar="PLACE", help="A folder with a recipe.json, a .zip or a .json.")
]
KeyFile = Annotated[
    Path, typer.Argument(metavar="KEYFILE", help="A new file, which only you can read.")
]


class RecipeKindOption(StrEnum):
    """What a recipe makes."""

    BOARD = "board"
    AUTOMATION = "automation"
    WORKFLOW = "workflow"
    INTEGRATION = "integration"
    BUNDLE = "bundle"


def add_to(app: typer.Typer, panel: str) -> None:
    """Adds the group of commands about recipes of one's own."""
    group = make_group("Write recipes: check, pack and sign them.")
    offered: dict[str, Callable[..., int]] = {
        "check": _check,
        "pack": _pack,
        "sign": _sign,
        "new-key": _new_key,
        "schema": _schema,
    }
    for name, command in offered.items():
        group.command(name=name)(command)
    app.add_typer(group, name="recipes", rich_help_panel=panel)


def add_scaffold(group: typer.Typer) -> None:
    """Adds the beginning of a recipe to the group of beginnings."""
    group.command(name="recipe")(_scaffold)


def _check(ctx: typer.Context, place: Place, for_programs: Json = False) -> int:
    """Judge a recipe as publishing would: what it makes, what it asks for, and what is wrong."""
    from mainspring.surfaces.cli.recipe_files import check_recipe

    context, screen = open_context(ctx, for_programs)
    return check_recipe(context, screen, place)


def _pack(
    ctx: typer.Context,
    place: Place,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The .json to write.")
    ],
    for_programs: Json = False,
) -> int:
    """Make one file of a recipe and all that lies beside it, with its digest."""
    from mainspring.surfaces.cli.recipe_files import pack_recipe

    context, screen = open_context(ctx, for_programs)
    return pack_recipe(context, screen, place, output)


def _sign(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A packed recipe.")],
    key: Annotated[Path, typer.Option(metavar="KEYFILE", help="Made by new-key.")],
    for_programs: Json = False,
) -> int:
    """Sign a packed recipe; the file then carries the signature."""
    from mainspring.surfaces.cli.recipe_files import sign_recipe

    context, screen = open_context(ctx, for_programs)
    return sign_recipe(context, screen, file, key)


def _new_key(ctx: typer.Context, file: KeyFile, for_programs: Json = False) -> int:
    """Make a key that signs recipes."""
    from mainspring.surfaces.cli.recipe_files import make_key

    _, screen = open_context(ctx, for_programs)
    return make_key(screen, file)


def _schema(ctx: typer.Context, for_programs: Json = False) -> int:
    """Print the JSON Schema of a recipe."""
    from mainspring.surfaces.cli.recipe_files import show_recipe_schema

    del for_programs  # The answer is JSON in any case.
    return show_recipe_schema(get_context(ctx).screen())


def _scaffold(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its slug, such as morning-numbers.")],
    kind: Annotated[
        RecipeKindOption, typer.Option(help="What it makes.")
    ] = RecipeKindOption.AUTOMATION,
    into: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the new folder is made.")
    ] = Path(),
    for_programs: Json = False,
) -> int:
    """Write the files of a new recipe: a folder that passes every check."""
    from mainspring.surfaces.cli.recipe_files import scaffold_recipe

    _, screen = open_context(ctx, for_programs)
    return scaffold_recipe(screen, name, kind.value, into)
