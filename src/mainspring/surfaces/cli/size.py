"""``size``: how large the installation is, how fast it grows, and what goes when."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns
from mainspring.surfaces.cli.formatting import date_time
from mainspring.triggers.storage_size import StorageReport, TableGroup, own_disk, read_size

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.screen import Screen

_UNITS = ("B", "KB", "MB", "GB", "TB")
_STEP = 1024


async def show_size(context: CommandContext, screen: Screen) -> int:
    """The report, by groups of tables, the largest first."""
    settings, limits = context.settings(), context.limits()
    async with context.doors.open(settings) as services:
        found = await read_size(services.database, limits, own_disk(settings))
    if screen.for_programs:
        screen.answer(found.as_dict())
    else:
        heads = ("What", "Size", "Rows", "A day", "Oldest", "Kept", "Goes")
        screen.say(columns(heads, map(_row, found.groups)), "", *sentences(found))
    return exits.DONE


def _row(group: TableGroup) -> list[str]:
    return [
        group.name,
        in_bytes(group.bytes),
        f"{group.rows:,}",
        "" if group.bytes_per_day is None else in_bytes(group.bytes_per_day, signed=True),
        _day(group.oldest_at),
        "" if group.kept_days is None else f"{group.kept_days} days",
        _day(group.removal_at),
    ]


def sentences(found: StorageReport) -> list[str]:
    """What it comes to."""
    said = [f"The database takes {in_bytes(found.database_bytes)}."]
    pace = found.bytes_per_day
    if pace is None:
        said.append("Growth is known after one hour of uptime.")
    else:
        said.append(f"It grows by {in_bytes(pace, signed=True)} a day.")
    if found.disk is not None:
        left = f"{in_bytes(found.disk.free_bytes)} are free on its disk"
        days = found.days_until_full
        said.append(f"{left}." if days is None else f"{left}: enough for {days:,} days.")
    return said


def in_bytes(number: int, *, signed: bool = False) -> str:
    """A size as a person says it."""
    value, unit = float(abs(number)), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    sign = "-" if number < 0 else "+" if signed and number else ""
    shown = f"{value:.0f}" if unit == 0 or value >= 100 else f"{value:.1f}"
    return f"{sign}{shown} {_UNITS[unit]}"


def _day(timestamp: datetime | None) -> str:
    return date_time(timestamp)[:10]
