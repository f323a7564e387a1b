"""The help of the command line lists every command, and fits one screen."""

from __future__ import annotations

import io

import typer
from typer.main import get_command

from mainspring.surfaces.cli.progress import ProgressLine, show_progress
from mainspring.surfaces.cli.root_help import TOPICS, root_help_lines
from mainspring.surfaces.cli.screen import Screen


def test_the_help_fits_one_screen() -> None:
    lines = root_help_lines()

    assert len(lines) <= 45
    assert max(map(len, lines)) <= 80


def test_the_help_names_every_command_once(locked_app: typer.Typer) -> None:
    listed = [name for common, others in TOPICS.values() for name in (*common, *others)]
    commands = get_command(locked_app).commands  # type: ignore[attr-defined]

    assert sorted(listed) == sorted(set(commands) - {"help", "version", "completion"})


def test_progress_shows_what_is_done_and_what_is_left() -> None:
    stream = io.StringIO()

    ProgressLine("Restoring", stream).update("runs", 3, 12)

    assert "Restoring [######------------------] 3/12 runs" in stream.getvalue()


def test_progress_is_silent_without_a_terminal() -> None:
    with show_progress(Screen(), "Restoring") as line:
        line.update("runs", 3, 12)

    assert line._stream is None
