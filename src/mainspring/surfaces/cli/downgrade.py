"""``downgrade``: takes the tables back, so that an older program starts on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mainspring.contracts.errors import Conflict
from mainspring.store.database import Database
from mainspring.store.downgrade import DowngradeStep, describe_losses, downgrade, plan_downgrade
from mainspring.store.migrate import read_schema_version
from mainspring.store.snapshot import refuse_at_work
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.backup import refuse_nothing
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.running_server import refuse_second
from mainspring.surfaces.cli.screen import Screen

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext

_POOL: Final = 2


async def go_back(context: CommandContext, screen: Screen, to: int, *, lose: bool) -> int:
    """Back to the tables of a number; what would be lost is said first."""
    settings = context.settings()
    refuse_second(settings.home)
    refuse_nothing(settings)
    database = await Database.open(settings, name="downgrade", pool_size=_POOL)
    try:
        if settings.database_url is not None:
            await refuse_at_work(database)
        ways = plan_downgrade(await read_schema_version(database), to)
        await _refuse_losses(database, ways, to, lose=lose)
        await downgrade(database, ways)
    finally:
        await database.close()
    gone = [way.migration.label for way in ways]
    if screen.for_programs:
        screen.answer({"tables": to, "undone": gone})
    else:
        screen.say(f"The tables are those of number {to} again; undone: {', '.join(gone)}.")
        screen.say("Now start the older version. This version would migrate the database again.")
    return exits.DONE


async def _refuse_losses(
    database: Database, ways: list[DowngradeStep], to: int, *, lose: bool
) -> None:
    lost = [] if lose else await describe_losses(database, ways)
    if lost:
        raise Conflict(
            f"The older tables have no place for {', '.join(lost)}. Nothing was changed.",
            code="downgrade_loses",
            suggestion=f"Make a backup, then {hint('downgrade', '--to', to, '--lose')}",
        )
