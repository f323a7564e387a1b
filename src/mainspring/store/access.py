"""The interface shared by the whole database and one workspace's view of it.

A function that changes something for one workspace takes either: the engine passes the database, an
interface passes the view that its caller may see.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from mainspring.store.database import Connection

Work = TypeVar("Work")


class DatabaseAccess(Protocol):
    """Access to rows, of all workspaces or of one."""

    def acquire(self) -> AbstractAsyncContextManager[Connection]:
        """A connection, for reading."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Connection]:
        """A transaction: committed at the end of the block, rolled back on any error."""
        ...

    async def fetch(self, query: str, /, *values: Any) -> list[Any]: ...

    async def fetchrow(self, query: str, /, *values: Any) -> Any: ...

    async def fetchval(self, query: str, /, *values: Any) -> Any: ...

    async def execute(self, query: str, /, *values: Any) -> str: ...

    async def run_retrying(
        self, work: Callable[[Connection], Awaitable[Work]], *, seconds: float = 30.0
    ) -> Work:
        """Retry the work after a lost connection or a conflict, until the time is up."""
        ...
