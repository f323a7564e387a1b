"""Whether two schedules mean the same: by when they go off, not by how they are spelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from mainspring.contracts.errors import Invalid
from mainspring.definition.cron import parse_cron

NOW: Final = datetime(2026, 11, 15, 12, tzinfo=UTC)
_COMPARED: Final = 60
_MOST_MOMENTS: Final = 5000


def same_moments(meant: Sequence[tuple[str, str]], said: Sequence[tuple[Any, Any]]) -> bool:
    """Whether schedules go off at the same moments, in zones of the same name."""
    if not said or {zone for _, zone in meant} != {zone for _, zone in said}:
        return False
    try:
        if sorted(meant) == sorted(said):
            # The same text; each has to be an expression that goes off at all.
            return all(any(_moments(*one, 1)) for one in meant)
        first = sorted({moment for one in meant for moment in _moments(*one, _COMPARED)})[
            :_COMPARED
        ]
        theirs = {moment for one in said for moment in _moments(*one, _MOST_MOMENTS, first[-1])}
    except (Invalid, TypeError, AttributeError):
        return False
    return set(first) == theirs


def _moments(cron: str, zone: str, most: int, until: Any = None) -> Iterator[Any]:
    parsed, moment = parse_cron(cron), NOW
    for _ in range(most):
        following = parsed.after(moment, zone)
        if following is None or (until is not None and following > until):
            return
        moment = following
        yield moment
