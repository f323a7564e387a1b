"""What the whole database and one workspace's side of it have in common.

A function that changes something for one workspace takes either: the engine hands it the
database, a surface hands it what its caller may see.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from mainspring.store.database import Connection

Work = TypeVar("Work")


class DatabaseAccess(Protocol):
    """A way to rows, whole or behind a wall."""

    def acquire(self) -> AbstractAsyncContextManager[Connection]:
        """A connection, for reading."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Connection]:
        """A transaction: committed at the end of the block, undone by any error."""
        ...

    async def fetch(self, query: str, /, *values: Any) -> list[Any]: ...

    async def fetchrow(self, query: str, /, *values: Any) -> Any: ...

    async def fetchval(self, query: str, /, *values: Any) -> Any: ...

    async def execute(self, query: str, /, *values: Any) -> str: ...

    async def run_retrying(
        self, work: Callable[[Connection], Awaitable[Work]], *, seconds: float = 30.0
    ) -> Work:
        """Does the work again after a lost connection or a collision, until time is up."""
        ...
