"""Connections that share a process-wide cache of Postgres's built-in types.

The driver introspects every array type once per connection, with a query that costs more than most
of ours: a burst that opens new connections would pay for it each time. Built-in types have the same
OID everywhere, so one result serves the whole process. User-defined types are introspected as
usual.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import asyncpg

if TYPE_CHECKING:
    _Plain = asyncpg.Connection[asyncpg.Record]
else:
    _Plain = asyncpg.Connection

# Below this OID all types are built in.
_FIRST_MADE: Final = 10_000

_answers: dict[frozenset[int], Any] = {}


@dataclass(frozen=True, slots=True)
class _SkippedStatement:
    """Replaces the statement that was not needed; a named one is never deallocated."""

    name: str = "remembered"


class TypeCachingConnection(_Plain):
    """Introspects each set of built-in types once per process."""

    async def _introspect_types(
        self,
        typeoids: Iterable[int],
        timeout: float | None,  # noqa: ASYNC109 - the driver says so
    ) -> tuple[Any, Any]:
        wanted = frozenset(typeoids)
        if wanted in _answers:
            return _answers[wanted], _SkippedStatement()
        found, statement = await super()._introspect_types(wanted, timeout)  # type: ignore[misc]
        if max(*wanted, *(row["oid"] for row in found)) < _FIRST_MADE:
            _answers[wanted] = found
        return found, statement
