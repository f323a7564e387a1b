"""Progress of long work on a terminal: what is done and what is left.

It goes to stderr, and only if that is a terminal. The output of the command stays the same.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from mainspring.surfaces.cli.screen import Screen

_CLEAR: Final = "\r\x1b[K"
_BAR_WIDTH: Final = 24
_LABEL_WIDTH: Final = 40


class ProgressLine:
    """One line that is rewritten as work advances."""

    def __init__(self, title: str, stream: TextIO | None) -> None:
        self._title = title
        self._stream = stream

    def update(self, label: str, done: int, total: int) -> None:
        """``done`` of ``total`` parts are complete; ``label`` is the one in progress."""
        if self._stream is None:
            return
        filled = _BAR_WIDTH * done // max(total, 1)
        bar = "#" * filled + "-" * (_BAR_WIDTH - filled)
        text = f"{self._title} [{bar}] {done}/{total} {label[:_LABEL_WIDTH]}"
        self._write(_CLEAR + text)

    def clear(self) -> None:
        if self._stream is not None:
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        assert self._stream is not None
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self._stream = None


@contextmanager
def show_progress(screen: Screen, title: str) -> Iterator[ProgressLine]:
    """A progress line that disappears when the work ends; silent without a terminal."""
    stream = sys.stderr if not screen.for_programs and sys.stderr.isatty() else None
    line = ProgressLine(title, stream)
    try:
        yield line
    finally:
        line.clear()
