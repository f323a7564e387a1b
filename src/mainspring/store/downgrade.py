"""Reverts the schema to the version of an older program.

Each migration has a downgrade file. It declares what is lost, with one query each, so that the
operator sees it in advance. A file and the row that records it are changed in one transaction; a
kill leaves both or neither.

    -- lost: standing halts = SELECT count(*) FROM halts
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from mainspring.contracts.errors import Conflict, InternalError, Invalid
from mainspring.store.database import Database, DedicatedConnection
from mainspring.store.database_errors import convert_driver_error, is_lost_connection
from mainspring.store.migrate import (
    DOWN,
    LOCK,
    PACKAGED,
    Migration,
    list_pending,
    read_applied,
    read_migrations,
)

_LOST = re.compile(r"(?m)^-- lost: (?P<what>[^=\n]+?) = (?P<query>SELECT [^\n]+)$")
_FORGET = "DELETE FROM schema_migrations WHERE version = $1"


@dataclass(frozen=True, slots=True)
class DowngradeStep:
    """The downgrade of one migration, and what it loses."""

    migration: Migration
    sql: str

    @property
    def losses(self) -> list[tuple[str, str]]:
        """What is lost, each with a query that counts it."""
        return [(found["what"], found["query"]) for found in _LOST.finditer(self.sql)]


def plan_downgrade(applied: int, to: int, folder: Path = PACKAGED) -> list[DowngradeStep]:
    """From the newest to the one after ``to``; all files must exist before the first is applied."""
    migrations = read_migrations(folder)
    if not 1 <= to < applied:
        raise Invalid(
            f"The schema is at migration {applied}; you can only go back to a smaller number.",
            code="no_way_back",
        )
    found: list[DowngradeStep] = []
    for migration in reversed(migrations[to:applied]):
        path = folder / f"{migration.label}{DOWN}"
        if not path.is_file():
            raise Conflict(
                f"Migration {migration.label} cannot be reversed.",
                code="no_way_back",
                suggestion="Restore a backup from before it into an empty database instead.",
            )
        found.append(DowngradeStep(migration, path.read_text(encoding="utf-8")))
    return found


async def describe_losses(database: Database, ways: Sequence[DowngradeStep]) -> list[str]:
    """The data that these downgrades would lose, with counts."""
    lines: list[str] = []
    for what, query in (loss for way in ways for loss in way.losses):
        number = await database.fetchval(query)
        if number:
            lines.append(f"{number} {what}")
    return lines


async def downgrade(
    database: Database, ways: Sequence[DowngradeStep], folder: Path = PACKAGED
) -> None:
    """Apply each downgrade in order."""
    connection = await database.dedicated()
    try:
        await connection.execute(LOCK)
        applied = await read_applied(connection)
        list_pending(read_migrations(folder), applied)
        if not ways or applied[-1].version != ways[0].migration.version:
            raise Conflict("The schema changed meanwhile.", code="tables_changed", retryable=True)
        for way in ways:
            await _apply_downgrade(connection, way)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise convert_driver_error(error) from error
    finally:
        connection.terminate()


async def _apply_downgrade(connection: DedicatedConnection, way: DowngradeStep) -> None:
    try:
        async with connection.transaction():
            await connection.execute(way.sql)
            await connection.execute(_FORGET, way.migration.version)
    except asyncpg.PostgresError as error:
        if is_lost_connection(error):
            raise
        raise InternalError(
            f"Migration {way.migration.label} could not be reversed (SQLSTATE {error.sqlstate}); "
            "nothing was changed.",
            code="downgrade_failed",
            retryable=False,
        ) from error
