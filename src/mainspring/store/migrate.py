"""Schema migrations: numbered files, each applied once and atomically.

A file and the row that records it are one transaction, so a kill leaves either all of the file or
nothing of it, and the next start continues from there. Several processes may start at once: a lock
lets one of them migrate, and the others find the work done.

Only ``up`` and the command ``migrate`` change existing tables. Everything else calls
``require_tables``, which creates them in an empty database and refuses older ones.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from mainspring.contracts.errors import Conflict, InternalError
from mainspring.store.application_name import count_other_processes
from mainspring.store.database import INSIDE, Connection, Database, DedicatedConnection
from mainspring.store.database_errors import convert_driver_error, is_lost_connection

PACKAGED = Path(__file__).parent / "migrations"
# The downgrade file next to a migration; only ``downgrade`` reads it.
DOWN = ".down.sql"
_FILE = re.compile(r"(?P<version>\d{4})_(?P<name>[a-z0-9_]+)\.sql")

# The oldest server version that supports our migrations.
OLDEST = 16
LOCK = "SELECT pg_advisory_lock(7311, 0)"
# How long to wait for a process that is migrating.
_WAIT = "SELECT pg_advisory_xact_lock_shared(7311, 0)"
_IS_THERE = "SELECT to_regclass('schema_migrations') IS NOT NULL"
_TABLE = """
    CREATE TABLE IF NOT EXISTS schema_migrations (
        version    integer PRIMARY KEY,
        name       text NOT NULL,
        checksum   bytea NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
    )
"""
_APPLIED = "SELECT version, name, checksum FROM schema_migrations ORDER BY version"
_RECORD = "INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)"
_ROLE_HINT = (
    f"The database account must own the database and may make roles; or an administrator runs "
    f"'CREATE ROLE {INSIDE}' and 'GRANT {INSIDE} TO' that account first."
)
_TRANSACTION = "SELECT pg_current_xact_id()::text"


@dataclass(frozen=True, slots=True)
class AppliedMigration:
    """A migration as recorded in the database."""

    version: int
    name: str
    checksum: bytes

    @property
    def label(self) -> str:
        return f"{self.version:04}_{self.name}"


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration file."""

    version: int
    name: str
    sql: str

    @property
    def label(self) -> str:
        return f"{self.version:04}_{self.name}"

    @property
    def checksum(self) -> bytes:
        return hashlib.sha256(self.sql.encode()).digest()


async def migrate(
    database: Database, folder: Path = PACKAGED, *, upto: int | None = None
) -> list[str]:
    """Apply the missing migrations, oldest first; returns their names.

    With ``upto``, later files are not applied.
    """
    migrations = read_migrations(folder)
    connection = await database.dedicated()
    try:
        refuse_old(connection.get_server_version().major)
        await connection.execute(LOCK)
        await connection.execute(_TABLE)
        missing = list_pending(migrations, await read_applied(connection))
        if upto is not None:
            missing = [migration for migration in missing if migration.version <= upto]
        for migration in missing:
            await _apply(connection, migration)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise convert_driver_error(error) from error
    finally:
        # Ends the session and releases the lock.
        connection.terminate()
    return [migration.label for migration in missing]


async def require_tables(database: Database, folder: Path = PACKAGED) -> None:
    """Create the tables of an empty database; refuse those of an older or a newer version."""
    if missing := await list_missing_migrations(database, folder):
        if missing[0].version == 1:
            await migrate(database, folder)
            return
        async with database.acquire() as connection:
            in_use = await count_other_processes(connection) > 0
        before = (
            "Stop every process of the older version, then" if in_use else "Make a backup, then"
        )
        raise Conflict(
            "The schema of this database is from an older Mainspring: its last migration is "
            f"{missing[0].version - 1}, and this version needs {missing[-1].version}.",
            code="database_older",
            suggestion=(
                f"{before} run `mainspring migrate` or start `mainspring up`, which also "
                "migrates. Nothing was changed."
            ),
        )


async def list_missing_migrations(database: Database, folder: Path = PACKAGED) -> list[Migration]:
    """The migrations that are not applied yet; waits for a process that is migrating."""
    async with database.transaction() as tx:
        await tx.execute(_WAIT)
        applied = await read_applied(tx) if await tx.fetchval(_IS_THERE) else []
    return list_pending(read_migrations(folder), applied)


def refuse_old(major: int) -> None:
    """Refuse a server version that does not support our schema."""
    if major < OLDEST:
        raise Conflict(
            f"This is Postgres {major}, and Mainspring needs {OLDEST} or newer.",
            code="postgres_too_old",
            suggestion="Upgrade that server, or use another one.",
        )


async def read_applied(connection: Connection) -> list[AppliedMigration]:
    """The applied migrations, oldest first."""
    return [AppliedMigration(*row) for row in await connection.fetch(_APPLIED)]


async def read_schema_version(database: Database) -> int:
    """The number of the last applied migration."""
    return int(await database.fetchval("SELECT max(version) FROM schema_migrations") or 0)


def read_migrations(folder: Path) -> list[Migration]:
    """The files of a folder in order; their numbers are 1, 2, 3 … without a gap."""
    found = []
    for path in sorted(folder.glob("*.sql")):
        if path.name.endswith(DOWN):
            continue
        if (named := _FILE.fullmatch(path.name)) is None:
            raise InternalError(f"The migration file {path.name} is not named like 0001_name.sql.")
        # Line endings may differ between machines; the checksum ignores them.
        sql = path.read_text(encoding="utf-8")
        found.append(Migration(int(named["version"]), named["name"], sql))
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        raise InternalError("The numbers of the migration files are not 1, 2, 3 … without a gap.")
    return found


def list_pending(
    migrations: Sequence[Migration], applied: Sequence[AppliedMigration]
) -> list[Migration]:
    """The migrations to apply; a database with a different history is refused."""
    if len(applied) > len(migrations):
        raise Conflict(
            f"The database was used by a newer Mainspring: it has {applied[-1].label}, which "
            f"this version does not support.",
            code="database_newer",
            suggestion="Use the newer version of Mainspring.",
        )
    for ours, theirs in zip(migrations, applied, strict=False):
        if (ours.version, ours.checksum) != (theirs.version, theirs.checksum):
            raise Conflict(
                f"The database was created with a different text of migration {theirs.label}.",
                code="migration_changed",
                suggestion=(
                    "Use the version of Mainspring that wrote this database, or start with "
                    "another data folder (MAINSPRING_HOME) or database."
                ),
            )
    return list(migrations[len(applied) :])


async def _apply(connection: DedicatedConnection, migration: Migration) -> None:
    try:
        async with connection.transaction():
            before = await connection.fetchval(_TRANSACTION)
            await connection.execute(migration.sql)
            if await connection.fetchval(_TRANSACTION) != before:
                raise InternalError(f"The migration {migration.label} ends its own transaction.")
            await connection.execute(_RECORD, migration.version, migration.name, migration.checksum)
    except asyncpg.PostgresError as error:
        if is_lost_connection(error) or isinstance(error, asyncpg.InsufficientResourcesError):
            raise
        denied = isinstance(error, asyncpg.InsufficientPrivilegeError)
        raise InternalError(
            f"Migration {migration.label} could not be applied (SQLSTATE {error.sqlstate}); "
            "nothing was changed.",
            code="migration_failed",
            suggestion=_ROLE_HINT if denied else None,
            retryable=False,
        ) from error
