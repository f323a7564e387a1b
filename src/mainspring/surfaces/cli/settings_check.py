"""What ``doctor`` says of the settings file in the data folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mainspring.settings import is_in_environment, read_settings_file
from mainspring.surfaces.cli.checks import DoctorCheck

if TYPE_CHECKING:
    from mainspring.settings import Settings


def settings_file(settings: Settings) -> DoctorCheck:
    """Which settings come from the file, and which of them the environment overrules."""
    said = sorted(read_settings_file(settings.home))
    if not said:
        return DoctorCheck("settings file", "ok", "There is none; the environment says everything.")
    told = ", ".join(f"{n} (overruled)" if is_in_environment(n) else n for n in said)
    return DoctorCheck("settings file", "ok", f"It sets {told}.")
