"""Connections that know the types of Postgres itself from one that came before them.

The driver asks the catalog about every array type, once on each connection, with a question that
costs more than most of ours: a burst that needs new connections would pay for it with each of
them. What Postgres brings along has the same number everywhere and for ever, so one answer serves
the whole process. A type that somebody made is asked for as ever.
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

# Below this number all types are Postgres's own, and numbered by hand.
_FIRST_MADE: Final = 10_000

_answers: dict[frozenset[int], Any] = {}


@dataclass(frozen=True, slots=True)
class _SkippedStatement:
    """Stands for the statement that was not needed: one with a name is in nobody's way."""

    name: str = "remembered"


class TypeCachingConnection(_Plain):
    """Asks about each set of Postgres's own types once in the life of the process."""

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
