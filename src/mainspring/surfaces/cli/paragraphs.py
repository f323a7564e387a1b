"""Paragraphs with a margin: what is folded goes on below its own beginning, not at the edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mainspring.surfaces.cli.screen import Screen, one_line

if TYPE_CHECKING:
    from rich.text import Text

# Lines longer than this are hard to read, however wide the terminal is.
_WIDEST: Final = 100
_NARROWEST: Final = 20
LONGEST: Final = 1_200


def heading(text: str) -> list[Text]:
    """The title of a part, with room above it."""
    from rich.text import Text

    return [Text(), Text(one_line(text), style="bold")]


def paragraph(
    screen: Screen,
    text: str,
    *,
    lead: str = "  ",
    style: str = "",
    lead_style: str = "",
    most: int = LONGEST,
) -> list[Text]:
    """One text behind its lead, folded to the terminal; a pipe gets it in one line."""
    from rich.text import Text

    body = Text(one_line(text, most), style=style)
    console = screen.console
    margin = " " * len(lead)
    if console.soft_wrap:
        lines = [body]
    else:
        width = max(min(console.width, _WIDEST) - len(lead), _NARROWEST)
        lines = list(body.wrap(console, width))
    return [
        Text.assemble((margin if place else lead, "" if place else lead_style), line)
        for place, line in enumerate(lines)
    ]
