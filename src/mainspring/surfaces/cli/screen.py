"""Where a command writes: lines for a person, or one JSON value for a program.

Everything that comes from data is cleaned first: a title or a header may hold escape
sequences that would make a terminal lie. A reader who goes away early (``| head``) must
not break off a run, so a closed pipe silences the screen and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import IO, TYPE_CHECKING, Any, Final
from uuid import UUID

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# Wide enough that no line of a pipe is ever folded or cut.
_PIPE_COLUMNS: Final = 2_000
# Control characters, and the marks that reverse the direction of text.
_UNSAFE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_UNSAFE_IN_JSON: Final = re.compile(r"[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_ADDRESS: Final = re.compile(r"https?://[^\s\"'<>]{1,2000}")
_BREAKS: Final = re.compile(r"[\t\n]+")

_MARKS: Final[Mapping[str, tuple[str, str, str]]] = {
    # kind: sign, the same in ASCII, colour
    "started": ("→", ">", "cyan"),
    "succeeded": ("✓", "+", "green"),
    "failed": ("✗", "x", "red"),
    "retrying": ("↻", "~", "yellow"),
    "skipped": ("–", "-", "bright_black"),
    "waiting": ("⏸", "=", "yellow"),
    "warning": ("!", "!", "yellow"),
    "told": ("·", ".", "bright_black"),
}


def clean(text: str) -> str:
    """Text that a terminal shows and does not obey."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str, most: int = 200) -> str:
    """The same on one line, cut where it gets too long."""
    flat = _BREAKS.sub(" ", clean(text)).strip()
    return truncate_text(flat, most)


def truncate_text(text: str, most: int) -> str:
    """The beginning of a text; an address in it is whole, because half of one leads nowhere."""
    if len(text) <= most:
        return text
    end = most - 1
    for address in _ADDRESS.finditer(text):
        if address.start() < end < address.end():
            end = address.end()
    return text if end >= len(text) else text[:end] + "…"


def as_json(value: Any, *, indent: int | None = 2) -> str:
    """JSON that reads the same on a terminal and in a program."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=_plain)
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _plain(value: Any) -> Any:
    match value:
        case datetime() | date():
            return value.isoformat()
        case UUID():
            return str(value)
        case Decimal():
            return format(value.normalize(), "f")
        case Mapping():
            return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


class Screen:
    """One command's output."""

    def __init__(self, *, for_programs: bool = False, no_color: bool = False) -> None:
        self.for_programs = for_programs
        self._no_color = no_color
        self._gone = False
        self._console: Console | None = None

    @property
    def console(self) -> Console:
        if self._console is None:
            self._console = make_console(sys.stdout, no_color=self._no_color)
        return self._console

    @property
    def is_lively(self) -> bool:
        """Whether a part of the screen may be drawn again and again."""
        if self.for_programs or self._gone or not sys.stdout.isatty():
            return False
        return not self.console.is_dumb_terminal

    def say(self, *parts: RenderableType) -> None:
        """Lines for a person; a program is told nothing but the answer."""
        if self.for_programs:
            return
        with self.forgiving():
            for part in parts:
                self.console.print(part)
            sys.stdout.flush()

    def note(self, text: str) -> None:
        """One plain line, cheap enough to be written thousands of times a second."""
        with self.forgiving():
            sys.stdout.write(clean(text) + "\n")
            sys.stdout.flush()

    def answer(self, value: Any) -> None:
        """The one JSON value for a program."""
        with self.forgiving():
            sys.stdout.write(as_json(value) + "\n")
            sys.stdout.flush()

    @contextlib.contextmanager
    def forgiving(self) -> Iterator[None]:
        """Writing to somebody who has gone away is no failure of the command."""
        try:
            yield
        except (OSError, SystemExit):
            # The console answers a closed pipe by leaving the program.
            self._gone = True
            lead_nowhere()

    def mark(self, kind: str) -> tuple[str, str]:
        """The sign for a kind of line, and its colour."""
        sign, plain, colour = _MARKS[kind]
        return (sign if "utf" in self.console.encoding else plain), colour


def is_terminal() -> bool:
    """Whether both what is typed and what is shown is a terminal."""
    return all(_is_tty(stream) for stream in (sys.stdin, sys.stdout))


def _is_tty(stream: object) -> bool:
    """Whether a stream is a terminal; a closed one is not there, or refuses to say."""
    asked = getattr(stream, "isatty", None)
    try:
        return bool(asked is not None and asked())
    except ValueError:
        return False


def lead_nowhere() -> None:
    """What is still to be written reaches nobody, nor does what Python writes at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with contextlib.suppress(OSError, ValueError):
        os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def make_console(file: IO[str], *, no_color: bool = False) -> Console:
    """A console that shows text as it is: no markup, no guessing, no folding in a pipe."""
    from mainspring.surfaces.cli.safe_console import SafeConsole

    return SafeConsole(
        clean,
        file=file,
        # None leaves the decision to the environment (NO_COLOR, TERM).
        no_color=True if no_color else None,
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=not file.isatty(),
        width=None if file.isatty() else _PIPE_COLUMNS,
    )


def steady_streams() -> None:
    """Neither a closed stream nor a character it does not know may end a command."""
    # In the order of their numbers, each of which then is what everybody takes it for.
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
