"""A line without mistakes is read the same without the parser as with it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from mainspring.app import build_registry
from mainspring.settings import Settings
from mainspring.surfaces.cli import ApplicationFactory, build_app, declarations, run_cli
from mainspring.surfaces.cli.command_table import COMMANDS
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.declarations import Command, parse
from mainspring.surfaces.cli.problems import run_declared
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.services import ApplicationServices

LINES = [
    "boards list",
    "boards list --archived --json",
    "--json --no-color boards show Work --limit 5 --dataset=rows --deleted",
    "boards delete Work a b c",
    "boards restore Work",
    "boards restore Work a b --dataset rows",
    "boards export Work out.jsonl --whole",
    "boards append Work - --key id",
    "pages search tea nine --type note --limit 3",
    "pages add - --title=The=plan",
]
# The parser explains these, or shows a help.
UNCLEAR = [
    "",
    "boards",
    "boards list --help",
    "boards list extra",
    "boards show",
    "boards show Work --limit 0",
    "boards show Work --limit many",
    "boards show Work --limit",
    "boards show Work --dataset --deleted",
    "boards list --archived=yes",
    "boards delete Work",
    "pages search -- tea -ten",
    "--version boards list",
    "--home",
]


def _closed(settings: Settings) -> AbstractAsyncContextManager[ApplicationServices]:
    raise AssertionError("the application was opened")


FACTORY = ApplicationFactory(_closed, build_registry)


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What commands were executed with, instead of their work."""
    found: list[Any] = []

    def execute(
        self: Command, context: CommandContext, screen: Screen, values: dict[str, Any]
    ) -> int:
        how = (context.command, context.has_json, context.no_color, context.home, context.server)
        found.append((self.words, values, screen.for_programs, how))
        return 7

    monkeypatch.setattr(declarations.Command, "execute", execute)
    return found


@pytest.mark.parametrize("line", LINES)
def test_both_readers_execute_the_same(line: str, executed: list[Any]) -> None:
    words = line.split()

    assert run_declared(FACTORY, words) == 7
    assert run_cli(build_app(FACTORY, words), words) == 7

    assert executed[0] == executed[1]


@pytest.mark.parametrize("line", UNCLEAR)
def test_the_parser_gets_every_other_line(line: str, executed: list[Any]) -> None:
    assert parse(line.split(), COMMANDS) is None
    assert run_declared(FACTORY, line.split()) is None
    assert executed == []


def test_options_of_the_whole_line_are_read_before_the_command(executed: list[Any]) -> None:
    words = ["--home", "/data", "--server", "https://example.org", "boards", "list"]

    assert run_declared(FACTORY, words) == 7

    assert executed[0][3][3:] == (Path("/data"), "https://example.org")


def test_each_command_is_declared_once() -> None:
    words = [command.words for command in COMMANDS]
    assert len(words) == len(set(words))
