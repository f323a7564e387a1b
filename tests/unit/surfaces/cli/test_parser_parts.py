"""One command is parsed without building the parsers of all others, and reads the same."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
import typer
from typer.main import get_command

from mainspring.app import build_registry
from mainspring.settings import Settings
from mainspring.surfaces.cli import ApplicationFactory, build_app
from mainspring.surfaces.cli.app import find_command
from mainspring.surfaces.services import ApplicationServices


def _closed(settings: Settings) -> AbstractAsyncContextManager[ApplicationServices]:
    raise AssertionError("the application was opened")


FACTORY = ApplicationFactory(_closed, build_registry)


def _commands(app: typer.Typer) -> dict[str, Any]:
    found: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    return found


def _describe(command: Any) -> Any:
    inner = {name: _describe(one) for name, one in getattr(command, "commands", {}).items()}
    params = [(one.name, tuple(one.opts), one.required) for one in command.params]
    return command.help, params, inner


def test_every_command_is_built_alone_as_in_the_whole(locked_app: typer.Typer) -> None:
    whole = _commands(locked_app)

    for name, command in whole.items():
        if name != "help":
            alone = _commands(build_app(FACTORY, [name]))
            assert list(alone) == [name]
            assert _describe(alone[name]) == _describe(command)
    assert list(_commands(build_app(FACTORY, ["help"]))) == list(whole)
    assert list(_commands(build_app(FACTORY, ["no-such-command"]))) == list(whole)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ([], None),
        (["--help"], None),
        (["list", "--json"], "list"),
        (["--json", "--home", "/tmp/x", "runs", "show"], "runs"),
        (["--home=/tmp/x", "--server", "https://example.org", "inbox"], "inbox"),
        (["--home"], None),
    ],
)
def test_the_command_is_the_first_word_after_the_options(
    words: list[str], command: str | None
) -> None:
    assert find_command(words) == command
