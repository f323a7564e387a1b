"""Times and amounts in words."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from shlex import quote
from zoneinfo import ZoneInfo

from mainspring.settings import program_name
from mainspring.surfaces.cli.screen import clean

PROGRAM = "mainspring"


def duration(seconds: float) -> str:
    """How long, with as many digits as anyone wants to know."""
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} days {hours} h"


def clock_time(timestamp: datetime) -> str:
    """A moment on this machine's clock, with the day when it is another one."""
    local = timestamp.astimezone()
    today = datetime.now(local.tzinfo).date()
    return local.strftime("%H:%M:%S" if local.date() == today else "%Y-%m-%d %H:%M:%S")


def date_time(timestamp: datetime | None) -> str:
    return "" if timestamp is None else timestamp.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def format_in_zone(timestamp: datetime, zone: str | None) -> str:
    """A moment in the zone that somebody chose for it, with the zone's name; else in UTC."""
    try:
        local = timestamp.astimezone(ZoneInfo(zone or "UTC"))
    except (ValueError, OSError, KeyError):
        zone, local = None, timestamp.astimezone(ZoneInfo("UTC"))
    return f"{local:%Y-%m-%d %H:%M} {zone or 'UTC'}"


def usd(amount: Decimal) -> str:
    return f"${amount.normalize():f}" if amount else "$0"


def count(number: int, thing: str, things: str | None = None) -> str:
    """The number with its noun in the right form."""
    return f"{number} {thing if number == 1 else things or thing + 's'}"


def hint(*words: object) -> str:
    """A command that can be copied as it stands; a name in it is quoted, and never obeyed."""
    home = () if (given := read_home_option(sys.argv[1:])) is None else ("--home", given)
    return clean(" ".join((program(), *(quote(str(word)) for word in (*home, *words)))))


def read_home_option(words: Sequence[str]) -> str | None:
    """The data folder that was named before the command, so that a hint means the same one."""
    found = None
    rest = iter(words)
    for word in rest:
        if word == "--home":
            found = next(rest, None)
        elif word.startswith("--home="):
            found = word.removeprefix("--home=")
        elif not word.startswith("-"):
            break
    return found


def program() -> str:
    """How this program is called here, so that a hint can be copied as it stands."""
    text = program_name()
    if text is not None:
        return quote(text)
    if shutil.which("mainspring") is not None:
        return "mainspring"
    started = Path(sys.argv[0])
    if started.name != "mainspring":
        return "python -m mainspring"
    return min(os.path.relpath(started), str(started), key=len)


def as_called_here(text: str) -> str:
    """What other rooms say of a command, as it is called here."""
    command = "`mainspring "
    return text.replace(command, f"`{hint()} ") if command in text else text
