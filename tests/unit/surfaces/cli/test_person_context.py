"""Who gives a command: a person at a terminal, or a program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mainspring.settings import Settings
from mainspring.surfaces.cli import context as contexts
from mainspring.surfaces.cli.context import CommandContext


@pytest.mark.parametrize(
    ("has_json", "token", "terminal", "person"),
    [
        (False, None, True, True),
        (True, None, True, False),
        (False, "mst_x", True, False),
        (False, None, False, False),
    ],
)
def test_a_person_is_at_a_terminal_without_json_and_token(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    has_json: bool,
    token: str | None,
    terminal: bool,
    person: bool,
) -> None:
    monkeypatch.setattr(contexts, "is_terminal", lambda: terminal)
    factory: Any = None
    context = CommandContext(factory, has_json=has_json)
    assert context.is_person(replace(Settings(home=tmp_path), token=token)) is person
