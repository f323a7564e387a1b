"""SQL statements composed of parts, so that rows of several tables need one round trip.

Each package writes its own part, which contains the table's name, and the caller that commits them
together numbers their parameters. A part takes its rows as columns; a column in which every row has
the default value is not sent: ``unnest`` fills it with NULL, and the part declares what NULL means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StatementPart:
    """A statement with {} for each of its columns, and what follows its WHERE."""

    text: str
    # The default value of each column; None where NULL is meant, or where there is none.
    usual: tuple[Any, ...]
    end: str = ""

    def numbered(self, first: int, only_if: str) -> str:
        """The part with its parameters numbered from ``first``, executed under a condition."""
        numbers = (f"${first + place}" for place in range(len(self.usual)))
        return f"{self.text.format(*numbers)} WHERE {only_if} {self.end}"

    def columns(self, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The parameters for these rows."""
        if not rows:
            return [None] * len(self.usual)
        there = len(rows)
        return [
            None if column.count(usual) == there else column
            for column, usual in zip(zip(*rows, strict=True), self.usual, strict=True)
        ]
