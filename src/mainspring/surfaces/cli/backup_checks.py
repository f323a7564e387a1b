"""What ``doctor`` says of backups, and of the settings file in the data folder."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from mainspring.settings import is_in_environment, read_settings_file
from mainspring.surfaces.cli.backing_up import last_backup
from mainspring.surfaces.cli.checks import Check
from mainspring.surfaces.cli.words import date_time, hint

if TYPE_CHECKING:
    from mainspring.settings import Settings

_OLD: Final = timedelta(days=8)


def backup(settings: Settings) -> Check:
    """When the last one was made here; how it is kept is not known."""
    found = last_backup(settings.home)
    how = hint("backup", "make", "FILE")
    if found is None:
        return Check("backup", "ok", f"None was made here yet; {how} makes one.")
    made_at, file = found
    told = f"The last one is of {date_time(made_at)}, in {file}."
    if datetime.now(UTC) - made_at > _OLD:
        return Check("backup", "doubtful", told, f"Make a newer one: {how}")
    return Check("backup", "ok", told)


def settings_file(settings: Settings) -> Check:
    """Which settings come from the file, and which of them the environment overrules."""
    said = sorted(read_settings_file(settings.home))
    if not said:
        return Check("settings file", "ok", "There is none; the environment says everything.")
    told = ", ".join(f"{n} (overruled)" if is_in_environment(n) else n for n in said)
    return Check("settings file", "ok", f"It sets {told}.")
