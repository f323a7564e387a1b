"""Lists in columns: the same look for everything that can be listed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.surfaces.cli.formatting import clock_time, date_time
from mainspring.surfaces.cli.screen import Screen

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_WIDE_COLUMNS = 120
# The part of an id that is its time, to the millisecond: enough to find the thing again.
_TIME_OF_ID = 13


def is_narrow(screen: Screen) -> bool:
    return screen.console.width < _WIDE_COLUMNS


def columns(
    heads: Sequence[str], rows: Iterable[Sequence[str | Text]], *, whole: Sequence[str] = ()
) -> Table:
    """A table without lines; the columns named in ``whole`` are never broken."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for head in heads:
        table.add_column(head, no_wrap=head in whole, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def short_id(thing: UUID | str, screen: Screen) -> str:
    """An id, cut on a narrow screen to what still names it."""
    return str(thing)[: _TIME_OF_ID if is_narrow(screen) else None]


def format_time(at: datetime | None, screen: Screen) -> str:
    """When, as short as the screen needs it."""
    if at is None:
        return ""
    return clock_time(at) if is_narrow(screen) else date_time(at)
