"""``move``: from the database that is, to another one, with everything in it.

The rows are copied and compared while nobody works; only then does the settings file name the
new place. The old database is left as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from mainspring.contracts.errors import Conflict, Invalid, Problem, UpstreamError
from mainspring.runs.transport.broker import broker_of
from mainspring.runs.transport.broker_probe import reach
from mainspring.settings import is_in_environment, read_settings_file, settings_file
from mainspring.store.database import Database
from mainspring.store.restore import is_same, load
from mainspring.store.snapshot import open_snapshot, refuse_at_work
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.backup import refuse_nothing
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.progress import show_progress
from mainspring.surfaces.cli.running_server import refuse_second
from mainspring.surfaces.cli.screen import Screen, clean
from mainspring.workspace.private_file import write_private

if TYPE_CHECKING:
    from mainspring.settings import Settings
    from mainspring.surfaces.cli.context import CommandContext

_DATABASE: Final = "MAINSPRING_DATABASE_URL"
_TRANSPORT: Final = "MAINSPRING_TRANSPORT"
_BROKER: Final = "MAINSPRING_BROKER_URL"
_POOL: Final = 2


@dataclass(frozen=True, slots=True)
class MoveTarget:
    """Where to: a database, and a broker if workers are to hear of runs by one."""

    database_url: str
    broker_url: str | None = None

    @property
    def lines(self) -> dict[str, str]:
        """What the settings file says from then on."""
        told = {_DATABASE: self.database_url}
        return (
            told
            if self.broker_url is None
            else {
                **told,
                _TRANSPORT: "celery",
                _BROKER: self.broker_url,
            }
        )


def parse_move_target(database_url: str, broker_url: str | None) -> MoveTarget:
    """The two addresses, judged by how they look."""
    _refuse_other("database", database_url, ("postgresql", "postgres"))
    if broker_url is not None:
        _refuse_other("broker", broker_url, ("redis", "rediss", "amqp", "amqps"))
    return MoveTarget(database_url.strip(), None if broker_url is None else broker_url.strip())


def _refuse_other(what: str, url: str, schemes: tuple[str, ...]) -> None:
    try:
        scheme = urlsplit(url.strip()).scheme
    except ValueError:
        scheme = ""
    if scheme not in schemes or any(character in url.strip() for character in "\r\n"):
        # Never quoted: there may be a password in it.
        *others, last = (f"{known}://" for known in schemes)
        raise Invalid(
            f"The address of the {what} must begin with {', '.join(others)} or {last}.",
            code="bad_address",
        )


async def move(context: CommandContext, screen: Screen, place: MoveTarget) -> int:
    """Copies, compares, and then lets the settings name the new place."""
    settings = context.settings()
    refuse_second(settings.home)
    refuse_nothing(settings)
    _refuse_silent(settings, place)
    if settings.database_url == place.database_url:
        if place.broker_url is None or settings.broker_url == place.broker_url:
            raise Conflict("That database is already in use.", code="already_there")
        rows = None
    else:
        rows = await _carry(screen, settings, place)
    _write(settings, place)
    overruled = [name for name in place.lines if is_in_environment(name)]
    if screen.for_programs:
        told = {"rows": rows, "settings_file": str(settings_file(settings.home))}
        screen.answer({**told, "overruled_by_environment": overruled})
        return exits.DONE
    if rows is not None:
        screen.say(f"Moved and verified {rows:,} rows.")
    screen.say(f"The settings are in {clean(str(settings_file(settings.home)))}")
    for name in overruled:
        screen.say(f"The environment variable {name} takes precedence. Change or unset it.")
    if settings.database_url is None:
        screen.say(f"The previous database stays in {clean(str(settings.home / 'postgres'))}")
    elif rows is not None:
        screen.say(
            "The database before is as it was. Change the settings of every other machine before "
            "anything is started there: a part that still opens it fires the same schedules again."
        )
    screen.say(f"Next: {hint('up')}")
    return exits.DONE


def _refuse_silent(settings: Settings, place: MoveTarget) -> None:
    """A broker that cannot be used is heard of now, not from every part after the move."""
    if place.broker_url is None:
        return
    broker = broker_of(replace(settings, transport="celery", broker_url=place.broker_url))
    if broker is not None and not reach(broker):
        raise UpstreamError(
            f"The broker at {broker.address} does not answer, so nothing was moved.",
            code="broker_away",
            suggestion="Start it, check its user and password, or leave --broker-url out: "
            "workers are then notified of runs through Postgres.",
        )


async def _carry(screen: Screen, settings: Settings, place: MoveTarget) -> int:
    source = await Database.open(settings, name="move", pool_size=_POOL)
    try:
        if settings.database_url is not None:
            await refuse_at_work(source)
        there = replace(settings, database_url=place.database_url)
        target = await _opened(there)
        try:
            with show_progress(screen, "Moving") as line:
                return await _copied(source, target, line.update)
        finally:
            await target.close()
    finally:
        await source.close()


async def _opened(there: Settings) -> Database:
    """The database to move to; one that cannot be used is named, without its password."""
    try:
        return await Database.open(there, name="move", pool_size=_POOL)
    except Problem as problem:
        raise UpstreamError(
            f"{problem.detail.removesuffix('.')}; nothing was moved.",
            code=problem.code,
            suggestion="Check --database-url, and whether that server is running.",
        ) from problem


async def _copied(
    source: Database, target: Database, progress: Callable[[str, int, int], None]
) -> int:
    async with open_snapshot(source, still=True) as snapshot:
        try:
            filled = await load(target, snapshot, progress=progress)
        except Problem as problem:
            # One that was broken off after the last row and before the settings were written.
            found = await is_same(target, snapshot) if problem.code == "not_empty" else None
            if found is None:
                raise
            return found
    return sum(filled.values())


def _write(settings: Settings, place: MoveTarget) -> None:
    """The lines that were there stay, with ours in the place of those of the same name."""
    path = settings_file(settings.home)
    said = {**read_settings_file(settings.home), **place.lines}
    head = "# Read at every start; the environment wins. May hold passwords: keep it private.\n"
    text = head + "".join(f"{name}={value}\n" for name, value in said.items())
    write_private(path, text.encode())
