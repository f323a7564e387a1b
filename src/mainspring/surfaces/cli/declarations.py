"""What a declared command is: its words, its parameters, and the function that it calls.

A declaration is read in two ways. ``typer_functions`` makes a command of the parser from it, with
help, completion and messages about wrong words. ``parse`` reads a line that is right without that
parser, which takes longer to import than most commands take to run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.screen import Screen

# No value: the parameter has to be given.
REQUIRED: Final = object()
JSON: Final = "--json"


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter: an option if it has ``flags``, else an argument."""

    name: str
    help: str
    flags: tuple[str, ...] = ()
    kind: type = str
    default: Any = REQUIRED
    metavar: str | None = None
    low: float | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()
    # An argument that takes every word that is left, or an option that may be repeated.
    many: bool = False

    def read(self, text: str) -> Any:
        """The value of a word; refuses one that the parser has to explain."""
        if self.kind is float:
            return self._read_number(text)
        if self.kind is not int:
            if self.choices and text not in self.choices:
                raise _Unclear
            return text
        if not (text.isascii() and text.isdecimal()):
            raise _Unclear
        value = int(text)
        if (self.low is not None and value < self.low) or (
            self.high is not None and value > self.high
        ):
            raise _Unclear
        return value

    def _read_number(self, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise _Unclear from None
        if not isfinite(value) or (self.low is not None and value < self.low):
            raise _Unclear
        return value


def flag(name: str, text: str, *flags: str) -> Param:
    """An option that is there or not."""
    return Param(name, text, flags or (f"--{name}",), bool, False)


def option(name: str, text: str, *flags: str, default: Any = None, **more: Any) -> Param:
    """An option with a value."""
    kind = more.pop("kind", int if isinstance(default, int) else str)
    return Param(name, text, flags or (f"--{name}",), kind, default, **more)


def limit(default: int, most: int = 1_000, *, name: str = "limit") -> Param:
    return option(name, "Maximum number of entries.", "--limit", default=default, low=1, high=most)


@dataclass(frozen=True, slots=True)
class Command:
    """A command; ``run`` names the module of this package and the function that does the work."""

    words: str
    help: str
    run: str
    params: tuple[Param, ...] = ()
    # Values that the function gets besides the parameters.
    fixed: Mapping[str, Any] = field(default_factory=dict)
    # Opens the application in this process, so it needs an event loop from the start.
    in_process: bool = False

    def execute(self, context: CommandContext, screen: Screen, values: dict[str, Any]) -> int:
        if self.in_process:
            from mainspring.surfaces.cli.context import finish as finish_request
        else:
            from mainspring.surfaces.cli.connection import finish_request

        module, _, name = self.run.partition(":")
        work = getattr(import_module(f"{__package__}.{module}"), name)
        code: int = finish_request(work(context, screen, **values, **self.fixed))
        return code


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """A command line, read."""

    command: Command
    values: dict[str, Any]
    for_programs: bool
    home: str | None
    server: str | None
    no_color: bool


class _Unclear(Exception):
    """The parser has to read this line."""


def parse(words: Sequence[str], commands: Sequence[Command]) -> ParsedLine | None:
    """The command of a line without mistakes; None for every other line."""
    shared: dict[str, str] = {}
    flags: set[str] = set()
    left = list(words)
    try:
        while left and left[0].startswith("-"):
            word = left.pop(0)
            if word in (JSON, "--no-color"):
                flags.add(word)
            elif word in ("--home", "--server") and left:
                shared[word] = left.pop(0)
            else:
                return None
        command = _find(left, commands)
        if command is None:
            return None
        given = left[len(command.words.split()) :]
        values = _read_params(command, given, flags)
    except _Unclear:
        return None
    return ParsedLine(
        command,
        values,
        JSON in flags,
        shared.get("--home"),
        shared.get("--server"),
        "--no-color" in flags,
    )


def _find(words: Sequence[str], commands: Sequence[Command]) -> Command | None:
    """The command with the most words that the line begins with."""
    found = None
    for command in commands:
        its = command.words.split()
        if list(words[: len(its)]) == its and (
            found is None or len(its) > len(found.words.split())
        ):
            found = command
    return found


def _read_params(command: Command, words: Sequence[str], flags: set[str]) -> dict[str, Any]:
    values = {param.name: param.default for param in command.params}
    left = _read_options(command, words, values, flags)
    for param in command.params:
        if param.flags or not left:
            continue
        if param.many:
            values[param.name], left = [param.read(word) for word in left], []
        else:
            values[param.name] = param.read(left.pop(0))
    if left or any(value is REQUIRED for value in values.values()):
        raise _Unclear
    return values


def _read_options(
    command: Command, words: Sequence[str], values: dict[str, Any], flags: set[str]
) -> list[str]:
    """Reads the options into the values; answers the words that are none."""
    options = {one: param for param in command.params for one in param.flags}
    left: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, text = word.partition("=")
        param = options.get(name)
        if word == JSON:
            flags.add(JSON)
        elif not word.startswith("-") or word == "-":
            left.append(word)
        elif param is None or (equals and param.kind is bool):
            raise _Unclear
        elif param.kind is bool:
            values[param.name] = True
        else:
            value = text if equals else next(rest, "-")
            if not equals and value.startswith("-"):
                raise _Unclear
            read = param.read(value)
            values[param.name] = [*(values[param.name] or ()), read] if param.many else read
    return left
