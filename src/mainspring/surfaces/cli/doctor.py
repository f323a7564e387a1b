"""``doctor``: looks at the machine and says what to do about what it finds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mainspring.contracts.errors import InternalError, Problem, describe_for_log
from mainspring.surfaces.cli import checks, exits
from mainspring.surfaces.cli.checks import DoctorCheck
from mainspring.surfaces.cli.checks_broker import broker
from mainspring.surfaces.cli.checks_of_parts import automation_parts
from mainspring.surfaces.cli.database_checks import (
    DatabaseFacts,
    database_checks,
    exposure,
    read_database_facts,
    telemetry,
)
from mainspring.surfaces.cli.desk import finish
from mainspring.surfaces.cli.screen import Screen, clean
from mainspring.surfaces.cli.settings_check import settings_file
from mainspring.surfaces.cli.words import as_called_here

if TYPE_CHECKING:
    from mainspring.settings import Settings
    from mainspring.surfaces.cli.desk import CommandContext
    from mainspring.surfaces.rooms import ApplicationServices
    from mainspring.workspace.vault import VaultHealth

_KINDS = {"ok": "succeeded", "doubtful": "warning", "wrong": "failed"}
# More than this and a person who compares two clocks is led astray.
_CLOCK_SECONDS = 2.0


def examine(desk: CommandContext, screen: Screen) -> int:
    """Every check in turn; a check that breaks is a finding, not an end."""
    settings = desk.server_settings()
    found: list[DoctorCheck] = []
    for name, check in _checks(desk, settings):
        try:
            result = check()
        except Exception as error:
            problem = (
                error if isinstance(error, Problem) else InternalError(describe_for_log(error))
            )
            result = _broken(name, problem)
        found.append(result)
        _show(result, screen)
    bad = sum(check.verdict == "wrong" for check in found)
    if screen.for_programs:
        screen.answer({"healthy": not bad, "checks": [check.as_dict() for check in found]})
    else:
        screen.say("", summarize_verdicts([check.verdict for check in found]))
    return exits.FAILED if bad else exits.DONE


def summarize_verdicts(verdicts: Sequence[str]) -> str:
    bad, doubtful = verdicts.count("wrong"), verdicts.count("doubtful")
    if bad:
        return f"{bad} of {len(verdicts)} checks failed."
    if doubtful:
        return f"Nothing is wrong; {doubtful} of {len(verdicts)} checks want a look."
    return "All is well."


def _checks(
    desk: CommandContext, settings: Settings
) -> list[tuple[str, Callable[[], DoctorCheck]]]:
    limits = desk.limits()
    # What was seen while the database was open; it is opened once.
    opened: list[VaultHealth] = []
    connected: list[DoctorCheck] = []
    incomplete: list[DoctorCheck] = []
    seen: list[DatabaseFacts] = []
    return [
        ("python", checks.python),
        ("platform", checks.machine),
        ("event loop", checks.event_loop),
        ("postgres", lambda: checks.postgres(settings)),
        ("data folder", lambda: checks.data_folder(settings)),
        ("server account", lambda: checks.server_user(settings)),
        ("disk", lambda: checks.disk(settings)),
        ("open files", checks.open_files),
        ("time zones", checks.time_zones),
        ("templates", lambda: checks.templates(limits)),
        ("master key", lambda: checks.master_key(settings)),
        ("address", lambda: checks.address(settings)),
        ("public address", lambda: checks.public_address(settings)),
        ("mail", lambda: checks.mail(settings)),
        ("settings file", lambda: settings_file(settings)),
        ("broker", lambda: broker(settings)),
        ("exposure", lambda: exposure(settings)),
        ("telemetry", lambda: telemetry(settings)),
        (
            "database",
            lambda: finish(_database(desk, settings, opened, connected, seen, incomplete)),
        ),
        *database_checks(seen, settings),
        ("secrets", lambda: _secrets(opened)),
        ("models", lambda: connected[0] if connected else _unknown("models")),
        ("automation parts", lambda: incomplete[0] if incomplete else _unknown("automation parts")),
        ("scripts", _scripts),
    ]


async def _database(
    desk: CommandContext,
    settings: Settings,
    opened: list[VaultHealth],
    connected: list[DoctorCheck],
    seen: list[DatabaseFacts],
    incomplete: list[DoctorCheck],
) -> DoctorCheck:
    """Starts or reaches the database, checks its tables, compares the clocks."""
    # Mail and broker have checks of their own; what is wrong there is no fault of the database.
    async with desk.doors.open(
        replace(settings, smtp_url=None, transport="local", otlp_url=None)
    ) as rooms:
        told = await rooms.database.fetchval("SELECT clock_timestamp()")
        apart = abs((datetime.now(UTC) - told).total_seconds())
        release = await rooms.database.fetchval("SHOW server_version")
        seen.append(await read_database_facts(rooms.database, settings, rooms.limits))
        incomplete.append(await automation_parts(rooms))
        with contextlib.suppress(Problem):
            opened.append(await rooms.vault.condition())
            connected.append(await _models(rooms))
    words = f"Postgres {release} answers and its tables are up to date"
    if apart > _CLOCK_SECONDS:
        return DoctorCheck(
            "database",
            "doubtful",
            f"{words}, but its clock is {apart:.0f} s away from this machine's.",
            "Let both machines take their time from the same server; runs follow the database.",
        )
    return DoctorCheck("database", "ok", f"{words}; the clocks agree.")


def _secrets(opened: list[VaultHealth]) -> DoctorCheck:
    if opened:
        return checks.secrets(opened[0])
    return _unknown("secrets")


def _unknown(name: str) -> DoctorCheck:
    return DoctorCheck(name, "doubtful", "Unknown, because the database or the key was not opened.")


async def _models(rooms: ApplicationServices) -> DoctorCheck:
    """How many connections to models there are, and whether their keys open."""
    from mainspring.workspace.model_connections import API_KEY, list_all_connections

    found = await list_all_connections(rooms.database)
    closed: list[str] = []
    for one in found:
        try:
            await rooms.vault.reveal(one.drawer, [API_KEY] if one.has_key else [])
        except Problem:
            closed.append(one.name)
    return checks.model_connections(len(found), closed)


def _scripts() -> DoctorCheck:
    from mainspring.surfaces.walls_here import probe_sandbox

    return checks.scripts(finish(probe_sandbox()))


def _broken(name: str, problem: Problem) -> DoctorCheck:
    suggestion = problem.suggestion
    return DoctorCheck(name, "wrong", problem.detail, suggestion and as_called_here(suggestion))


def _show(check: DoctorCheck, screen: Screen) -> None:
    from rich.text import Text

    sign, colour = screen.mark(_KINDS[check.verdict])
    screen.say(Text.assemble((sign, colour), f" {check.name.ljust(15)} {clean(check.detail)}"))
    if check.suggestion:
        screen.say(Text(f"{'':18}{clean(check.suggestion)}"))
