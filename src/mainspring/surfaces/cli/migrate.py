"""``migrate``: brings the tables up to date without starting a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mainspring.store.database import Database
from mainspring.store.migrate import list_missing_migrations, migrate, read_schema_version
from mainspring.store.snapshot import refuse_at_work
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.running_server import make_data_folder, refuse_second

if TYPE_CHECKING:
    from mainspring.settings import Settings
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.screen import Screen

_POOL: Final = 2


async def migrate_tables(context: CommandContext, screen: Screen) -> int:
    """Applies what is missing; refuses while another process has the database open."""
    settings = context.settings()
    refuse_second(settings.home)
    make_data_folder(settings)
    applied, number = await bring_up_to_date(settings, alone=settings.database_url is None)
    if screen.for_programs:
        screen.answer({"tables": number, "applied": applied})
    elif applied:
        screen.say(f"The tables are up to date at migration {number}; new: {', '.join(applied)}.")
    else:
        screen.say(f"The tables are up to date at migration {number}; there was nothing to do.")
    return exits.DONE


async def bring_up_to_date(settings: Settings, *, alone: bool) -> tuple[list[str], int]:
    """Answers what was applied and the number of the last migration.

    ``alone``: nobody else can have the database open, because it is embedded and was started
    for this process.
    """
    database = await Database.open(settings, name="migrate", pool_size=_POOL)
    try:
        if not alone and await list_missing_migrations(database):
            await refuse_at_work(database)
        return await migrate(database), await read_schema_version(database)
    finally:
        await database.close()
