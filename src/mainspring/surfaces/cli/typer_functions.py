"""Declared commands as functions that the parser takes."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from mainspring.surfaces.cli.command_table import COMMANDS
from mainspring.surfaces.cli.declarations import REQUIRED, Command, Param
from mainspring.surfaces.cli.options import Json, open_context

_BY_WORDS = {command.words: command for command in COMMANDS}


def declared(words: str) -> Callable[..., int]:
    """The function of a declared command."""
    return as_function(_BY_WORDS[words])


def add_declared(group: typer.Typer, name: str) -> None:
    """Adds every declared command of a group, in the order of the table."""
    for command in COMMANDS:
        first, _, rest = command.words.partition(" ")
        if first == name and rest and " " not in rest:
            group.command(name=rest)(as_function(command))


def as_function(command: Command) -> Callable[..., int]:
    """A function with the signature that the parser reads, which executes the command."""

    def run(ctx: typer.Context, *, for_programs: bool = False, **given: Any) -> int:
        if ctx.invoked_subcommand is not None:
            return 0
        context, screen = open_context(ctx, for_programs)
        values = {name: _plain(value) for name, value in given.items()}
        return command.execute(context, screen, values)

    annotations: dict[str, Any] = {"ctx": typer.Context}
    annotations |= {param.name: _annotation(param) for param in command.params}
    annotations |= {"for_programs": Json, "return": int}
    defaults = {param.name: _default(param) for param in command.params} | {"for_programs": False}
    run.__annotations__ = annotations
    run.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                default=defaults.get(name, Parameter.empty),
                annotation=kind,
            )
            for name, kind in annotations.items()
            if name != "return"
        ],
        return_annotation=int,
    )
    run.__doc__ = command.help
    run.__name__ = command.words.replace(" ", "_").replace("-", "_")
    return run


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.value if isinstance(value, StrEnum) else value


def _default(param: Param) -> Any:
    if param.default is REQUIRED:
        return Parameter.empty
    if param.choices and param.default is not None:
        return _choices(param)(param.default)
    return param.default


def _annotation(param: Param) -> Any:
    kind: Any = _choices(param) if param.choices else param.kind
    if param.many:
        kind = list[kind]
    if param.default is None:
        kind = kind | None
    shown: dict[str, Any] = {
        "metavar": param.metavar,
        "help": param.help,
        "min": param.low,
        "max": param.high,
    }
    made = typer.Option(*param.flags, **shown) if param.flags else typer.Argument(**shown)
    return Annotated[kind, made]


def _choices(param: Param) -> type[StrEnum]:
    if param.choices not in _ENUMS:
        members = {one.upper(): one for one in param.choices}
        _ENUMS[param.choices] = StrEnum("Choice", members)  # type: ignore[assignment]
    return _ENUMS[param.choices]


_ENUMS: dict[tuple[str, ...], type[StrEnum]] = {}
