"""The check of ``doctor`` that asks the broker, where one is set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mainspring.runs.transport.broker import broker_of
from mainspring.runs.transport.reaching import reach
from mainspring.surfaces.cli.checks import DoctorCheck

if TYPE_CHECKING:
    from mainspring.settings import Settings


def broker(settings: Settings) -> DoctorCheck:
    """Whether hints can travel; runs are found without them, only later."""
    found = broker_of(settings)
    if found is None:
        return DoctorCheck("broker", "ok", "Not needed: workers hear of runs through Postgres.")
    if reach(found):
        return DoctorCheck("broker", "ok", f"The broker at {found.address} answers.")
    return DoctorCheck(
        "broker",
        "doubtful",
        found.gone,
        "Start it, or see whether MAINSPRING_BROKER_URL leads there, with its user and password.",
    )
