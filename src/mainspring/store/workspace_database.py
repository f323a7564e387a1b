"""The database as one workspace sees it.

It is used like the database itself, but every query runs under row-level security: a query that
omits its workspace condition finds no rows of other workspaces. A change that must be audited adds
its entry to the audit log in its own transaction.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from mainspring.store.audit import AuditRecord, append_audit
from mainspring.store.query_executor import QueryExecutor

if TYPE_CHECKING:
    from mainspring.store.database import Connection, Database

Work = TypeVar("Work")


def _record_nothing() -> Sequence[AuditRecord]:
    return ()


@dataclass(frozen=True, slots=True)
class WorkspaceDatabase(QueryExecutor):
    """The database restricted to one workspace."""

    database: Database
    workspace_id: UUID
    # The audit entries to add when a transaction of this object commits.
    tell: Callable[[], Sequence[AuditRecord]] = _record_nothing

    @contextlib.asynccontextmanager
    async def acquire(self) -> AsyncIterator[Connection]:
        """A connection, for reading."""
        async with self.database.inside(self.workspace_id) as connection:
            yield connection

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A transaction: committed with its audit entries, rolled back on any error."""
        async with self.acquire() as connection, connection.transaction():
            yield connection
            await append_audit(connection, self.tell())

    async def note(self) -> None:
        """Add the entries for a change that another package has committed itself."""
        async with self.transaction():
            pass

    async def run_retrying(
        self, work: Callable[[Connection], Awaitable[Work]], *, seconds: float = 30.0
    ) -> Work:
        """Run the work in a transaction, and retry after a lost connection or a serialization
        conflict.
        """

        async def behind() -> Work:
            async with self.transaction() as connection:
                return await work(connection)

        return await self.database.retrying(behind, seconds=seconds)
