"""Declared commands as functions that the parser takes."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from mainspring.surfaces.cli.command_table import COMMANDS, GROUPS
from mainspring.surfaces.cli.declarations import REQUIRED, Command, Param
from mainspring.surfaces.cli.options import Json, help_alone, make_group, open_context

_BY_WORDS = {command.words: command for command in COMMANDS}


def declared(words: str) -> Callable[..., int]:
    """The function of a declared command."""
    return as_function(_BY_WORDS[words])


def declared_group(name: str) -> typer.Typer:
    """A group with its declared commands. Without a subcommand, the group's own command runs.

    A group without a command of its own prints its help.
    """
    sentence = GROUPS[name]
    group = make_group(sentence)
    if name in _BY_WORDS:
        group.callback(invoke_without_command=True, help=sentence)(declared(name))
    else:
        group.callback(invoke_without_command=True, help=sentence)(_show_help)
    add_declared(group, name)
    return group


def _show_help(ctx: typer.Context) -> None:
    help_alone(ctx)


def add_declared(group: typer.Typer, name: str) -> None:
    """Adds every declared command of a group, in the order of the table."""
    groups: dict[str, list[tuple[str, Command]]] = {}
    for command in COMMANDS:
        first, _, rest = command.words.partition(" ")
        if first != name or not rest:
            continue
        inner, _, last = rest.partition(" ")
        if last:
            groups.setdefault(inner, []).append((last, command))
        else:
            group.command(name=rest)(as_function(command))
    for inner, commands in groups.items():
        nested = make_group(commands[0][1].help)
        nested.callback(invoke_without_command=True, help=commands[0][1].help)(_show_help)
        for last, command in commands:
            nested.command(name=last)(as_function(command))
        group.add_typer(nested, name=inner)


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
