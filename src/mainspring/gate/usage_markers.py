"""Marks in what a script prints that tell of models of its own.

``[[llm_usage]]{"model": …, "input_tokens": …, "output_tokens": …, "cost_usd": …}[[/llm_usage]]``

Output comes in pieces that are cut anywhere. Nothing is kept of it but the beginning of a mark
that is not whole yet, and of that no more than a mark may be long. A mark that cannot be read
counts for nothing, and says why; it never takes anything back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import Usage
from mainspring.definition.strict_json import read_json

OPEN: Final = "[[llm_usage]]"
CLOSE: Final = "[[/llm_usage]]"
LONGEST: Final = 4_096
# Larger than anything real; the gate has narrower bounds of its own.
_MOST_TOKENS: Final = 10**12
_MOST_USD: Final = Decimal(10**6)
_LONGEST_NAME: Final = 200
_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class IgnoredMarker:
    """A mark that counts for nothing, and why."""

    reason: str


Marker = Usage | IgnoredMarker


def usage_markers(pieces: Iterable[str], *, most: int | None = None) -> Iterator[Marker]:
    """Every mark in a text that comes in pieces."""
    marks = UsageMarkerParser(most)
    for piece in pieces:
        yield from marks.feed(piece)
    yield from marks.close()


class UsageMarkerParser:
    """Finds marks in one stream; it is fed as the stream comes."""

    def __init__(self, most: int | None = None) -> None:
        self._left = _LIMITS.usage_reports if most is None else most
        # The end of what came that may be the beginning of a mark, or a mark that has begun.
        self._held = ""
        self._inside = False

    @property
    def held(self) -> int:
        """How many characters are kept until more has come."""
        return len(self._held)

    def feed(self, piece: str) -> Iterator[Marker]:
        """The marks that are whole now."""
        if self._left < 0:
            return
        for mark in self._found(piece):
            self._left -= 1
            if self._left < 0:
                self._held = ""
                yield IgnoredMarker("Too many usage markers were printed; the rest is ignored.")
                return
            yield mark

    def close(self) -> Iterator[Marker]:
        """The end of the stream: a mark that has begun is never ended."""
        if self._inside and self._left > 0:
            yield IgnoredMarker("A usage marker was started but not ended.")
        self._held, self._inside = "", False

    def _found(self, piece: str) -> Iterator[Marker]:
        text = self._held + piece
        # Where to look for the end of a mark: before that there is none.
        at, seen = 0, max(len(self._held) - len(CLOSE), 0)
        while True:
            if not self._inside:
                start = text.find(OPEN, at)
                if start < 0:
                    self._held = text[max(at, len(text) - _overlap(text, at)) :]
                    return
                at, self._inside = start + len(OPEN), True
                seen = at
            end = text.find(CLOSE, max(at, seen))
            if end < 0 and len(text) - at <= LONGEST:
                self._held = text[at:]
                return
            self._inside = False
            if end < 0 or end - at > LONGEST:
                yield IgnoredMarker(f"A usage marker is longer than {LONGEST} characters.")
                # What looked like its beginning was none; another may begin right after it.
                continue
            # A mark that was begun anew counts from there.
            inner = text.rfind(OPEN, at, end)
            yield _read(text[at if inner < 0 else inner + len(OPEN) : end])
            at = end + len(CLOSE)


def _overlap(text: str, at: int) -> int:
    """How much of the end of a text may be the beginning of a mark."""
    room = len(text) - at
    sizes = range(min(len(OPEN) - 1, room), 0, -1)
    return next((size for size in sizes if OPEN.startswith(text[len(text) - size :])), 0)


def _read(body: str) -> Marker:
    try:
        value = read_json(body, _LIMITS)
    except Invalid:
        return IgnoredMarker("A usage marker contains invalid JSON.")
    if not isinstance(value, Mapping):
        return IgnoredMarker("A usage marker contains JSON that is not an object.")
    reads, writes = _count(value, "input_tokens"), _count(value, "output_tokens")
    usd = _money(value.get("cost_usd"))
    if reads is None or writes is None or usd is None:
        return IgnoredMarker(
            "A usage marker needs input_tokens, output_tokens and cost_usd, each a number of at "
            "least 0."
        )
    return Usage(_name(value.get("model")), reads, writes, usd, reported=True)


def _count(value: Mapping[str, Any], name: str) -> int | None:
    given = value.get(name)
    if type(given) is not int or given < 0:
        return None
    return min(given, _MOST_TOKENS)


def _money(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    usd = Decimal(str(value))
    return min(usd, _MOST_USD) if usd.is_finite() and usd >= 0 else None


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        return "unknown"
    return value[:_LONGEST_NAME]
