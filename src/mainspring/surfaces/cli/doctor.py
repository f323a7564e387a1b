"""``doctor``: looks at the machine and says what to do about what it finds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from mainspring.contracts.errors import InternalError, Problem, describe_for_log
from mainspring.contracts.preflight import DefinitionOwner
from mainspring.runs.transport.broker import broker_of
from mainspring.runs.transport.broker_probe import reach
from mainspring.settings import is_in_environment, read_settings_file
from mainspring.surfaces.cli import checks, exits
from mainspring.surfaces.cli.checks import DoctorCheck
from mainspring.surfaces.cli.context import finish
from mainspring.surfaces.cli.database_checks import (
    DatabaseFacts,
    database_checks,
    exposure,
    read_database_facts,
    telemetry,
)
from mainspring.surfaces.cli.formatting import as_called_here, count
from mainspring.surfaces.cli.screen import Screen, clean, one_line
from mainspring.workspace.automation_states import filter_blocking_findings
from mainspring.workspace.automations import read_grants
from mainspring.workspace.workspace_validation import find_missing_dependencies, load_vocabulary

if TYPE_CHECKING:
    from mainspring.settings import Settings
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.services import ApplicationServices
    from mainspring.workspace.vault import VaultHealth


# The check of ``doctor`` that asks the broker, where one is set.


def broker(settings: Settings) -> DoctorCheck:
    """Whether hints can travel; runs are found without them, only later."""
    found = broker_of(settings)
    if found is None:
        return DoctorCheck(
            "broker", "ok", "Not needed: workers are notified of runs through Postgres."
        )
    if reach(found):
        return DoctorCheck("broker", "ok", f"The broker at {found.address} answers.")
    return DoctorCheck(
        "broker",
        "doubtful",
        found.gone,
        "Start it, or see whether MAINSPRING_BROKER_URL leads there, with its user and password.",
    )


# The check of ``doctor`` for active automations that need a part which is missing here.

_NAME: Final = "automation parts"
_MOST: Final = 200
_ACTIVE: Final = """
    SELECT a.workspace_id, a.id, a.name, d.document, v.grants
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id AND v.automation_id = a.id
        AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE a.state = 'active' ORDER BY a.name LIMIT $1
"""
# Doctor opens the application without a mail server; "automation mail" reports on mail.
_ELSEWHERE: Final = frozenset({"mail_not_set_up", "owner_mail_missing"})


async def automation_parts(services: ApplicationServices) -> DoctorCheck:
    """Active automations of which no run can succeed until somebody sets up what is missing."""
    rows = await services.database.fetch(_ACTIVE, _MOST)
    told, ways = [], []
    for row in rows:
        space, document = row["workspace_id"], row["document"]
        vocabulary = await load_vocabulary(services.registry, space, document)
        found = await find_missing_dependencies(
            document,
            read_grants(row["grants"]),
            vocabulary,
            services.gate.models,
            services.gate.preflight,
            DefinitionOwner(space, row["id"]),
        )
        blocking = [
            one for one in filter_blocking_findings(document, found) if one.code not in _ELSEWHERE
        ]
        if blocking:
            told.append(f"{one_line(row['name'], 60)} ({blocking[0].detail})")
            ways.append(blocking[0].suggestion)
    if not told:
        return DoctorCheck(_NAME, "ok", "Active automations have everything they need.")
    shown = "; ".join(told[:3])
    rest = f"; and {len(told) - 3} more" if len(told) > 3 else ""
    many = count(len(told), "active automation")
    return DoctorCheck(_NAME, "doubtful", f"{many} cannot succeed: {shown}{rest}.", ways[0])


# What ``doctor`` says of the settings file in the data folder.


def settings_file(settings: Settings) -> DoctorCheck:
    """Which settings come from the file, and which of them the environment overrules."""
    said = sorted(read_settings_file(settings.home))
    if not said:
        return DoctorCheck(
            "settings file", "ok", "There is none; settings come from the environment."
        )
    told = ", ".join(f"{n} (overruled)" if is_in_environment(n) else n for n in said)
    return DoctorCheck("settings file", "ok", f"It sets {told}.")


_KINDS = {"ok": "succeeded", "doubtful": "warning", "wrong": "failed", "unknown": "warning"}
# More than this and a person who compares two clocks is led astray.
_CLOCK_SECONDS = 2.0


def examine(context: CommandContext, screen: Screen, *, public: bool = False) -> int:
    """Every check in turn; a check that breaks is a finding, not an end."""
    settings = context.server_settings()
    found: list[DoctorCheck] = []
    if public:
        found = finish(_check_public_address(context, settings))
        for one in found:
            _show(one, screen)
    for name, check in () if public else _checks(context, settings):
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


async def _check_public_address(context: CommandContext, settings: Settings) -> list[DoctorCheck]:
    """The public address, tested from this machine; the server has to be running."""
    from mainspring.outbound.public_address import PURPOSE, PublicAddressProbe

    async with context.doors.open(
        replace(settings, smtp_url=None, transport="local", otlp_url=None)
    ) as services:
        key = await services.vault.derived_key(PURPOSE)
    probe = PublicAddressProbe(settings.public_url, key, proxies=settings.proxies)
    return [
        DoctorCheck(one.name, one.verdict, one.detail, one.suggestion) for one in await probe.run()
    ]


def summarize_verdicts(verdicts: Sequence[str]) -> str:
    bad, doubtful = verdicts.count("wrong"), verdicts.count("doubtful")
    unknown = verdicts.count("unknown")
    if bad:
        return f"{bad} of {len(verdicts)} checks failed."
    if unknown and not doubtful:
        return f"Nothing is wrong; {count(unknown, 'check')} cannot be made from here."
    if doubtful:
        return f"Nothing is wrong; {doubtful} of {len(verdicts)} checks need attention."
    return "All is well."


def _checks(
    context: CommandContext, settings: Settings
) -> list[tuple[str, Callable[[], DoctorCheck]]]:
    limits = context.limits()
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
            lambda: finish(_database(context, settings, opened, connected, seen, incomplete)),
        ),
        *database_checks(seen, settings),
        ("secrets", lambda: _secrets(opened)),
        ("models", lambda: connected[0] if connected else _unknown("models")),
        ("automation parts", lambda: incomplete[0] if incomplete else _unknown("automation parts")),
        ("scripts", _scripts),
    ]


async def _database(
    context: CommandContext,
    settings: Settings,
    opened: list[VaultHealth],
    connected: list[DoctorCheck],
    seen: list[DatabaseFacts],
    incomplete: list[DoctorCheck],
) -> DoctorCheck:
    """Starts or reaches the database, checks its tables, compares the clocks."""
    # Mail and broker have checks of their own; what is wrong there is no fault of the database.
    async with context.doors.open(
        replace(settings, smtp_url=None, transport="local", otlp_url=None)
    ) as services:
        result = await services.database.fetchval("SELECT clock_timestamp()")
        apart = abs((datetime.now(UTC) - result).total_seconds())
        release = await services.database.fetchval("SHOW server_version")
        seen.append(await read_database_facts(services.database, settings, services.limits))
        incomplete.append(await automation_parts(services))
        with contextlib.suppress(Problem):
            opened.append(await services.vault.check_health())
            connected.append(await _models(services))
    text = f"Postgres {release} answers and its tables are up to date"
    if apart > _CLOCK_SECONDS:
        return DoctorCheck(
            "database",
            "doubtful",
            f"{text}, but its clock is {apart:.0f} s away from this machine's.",
            "Let both machines take their time from the same server; runs follow the database.",
        )
    return DoctorCheck("database", "ok", f"{text}; the clocks agree.")


def _secrets(opened: list[VaultHealth]) -> DoctorCheck:
    if opened:
        return checks.secrets(opened[0])
    return _unknown("secrets")


def _unknown(name: str) -> DoctorCheck:
    return DoctorCheck(name, "doubtful", "Unknown, because the database or the key was not opened.")


async def _models(services: ApplicationServices) -> DoctorCheck:
    """How many connections to models there are, and whether their keys open."""
    from mainspring.workspace.model_connections import API_KEY, list_all_connections

    found = await list_all_connections(services.database)
    closed: list[str] = []
    for one in found:
        try:
            await services.vault.reveal(one.secret_scope, [API_KEY] if one.has_key else [])
        except Problem:
            closed.append(one.name)
    return checks.model_connections(len(found), closed)


def _scripts() -> DoctorCheck:
    from mainspring.surfaces.sandbox_status import probe_sandbox

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
