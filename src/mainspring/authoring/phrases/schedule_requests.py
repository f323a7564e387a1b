"""Grouping time phrases into one request per schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from mainspring.authoring.phrases.clock import ClockTime, in_part
from mainspring.authoring.phrases.time_phrases import TimePhrase
from mainspring.authoring.phrases.zones import ZoneMention

_DAYS: Final = frozenset(
    {
        "days",
        "month_days",
        "nth",
        "nth_or_other",
        "date",
        "edge",
        "working_day",
        "before_end",
        "quarter_day",
        "impossible",
    }
)
_WITHOUT: Final = frozenset(
    {"without", "without_times", "without_months", "without_month_days", "without_nth"}
)
_RHYTHMS: Final = _DAYS | _WITHOUT | {"every", "times", "twofold", "months", "working_hours"}
# Requests closer than this form a list: every Tuesday and on the last Friday.
_NEXT_TO: Final = 10
_SMALL: Final = frozenset({"secs", "minute", "hour"})


@dataclass(slots=True)
class ScheduleRequest:
    """A schedule request: its phrases by kind."""

    start: int = -1
    end: int = -1
    said: dict[str, list[Any]] = field(default_factory=dict)
    clock: tuple[ClockTime, ...] = ()
    parts: tuple[str, ...] = ()
    place: ZoneMention | None = None
    # The times come from the previous request.
    inherited: bool = False
    # The days of the week came with "every", so they are not ordinals of a month.
    days_are_every: bool = False
    # The first phrase was an exclusion.
    leaves_out_first: bool = False

    def first(self, kind: str) -> Any:
        return self.said[kind][0] if kind in self.said else None

    @property
    def has_rhythm(self) -> bool:
        return bool(self.said.keys() & _RHYTHMS)

    @property
    def is_small(self) -> bool:
        """Whether its interval is in minutes or hours."""
        return any(unit in _SMALL for _, unit in self.said.get("every", ()))

    def add(self, piece: TimePhrase) -> None:
        if piece.kind == "clock":
            self.clock += tuple(_in_parts(one, self.parts[-1:]) for one in piece.value)
        elif piece.kind == "part":
            self.parts += (piece.value,)
            if piece.hard:
                self.said.setdefault("every", []).append((1, "day"))
        elif piece.kind == "edge" and piece.value[1] == "weekdays":
            self.parts += ("end of the day" if piece.value[0] else "start of the day",)
            self.said.setdefault("days", []).append(frozenset({1, 2, 3, 4, 5}))
        elif piece.kind == "edge" and piece.value[1] == "day":
            self.parts += ("end of the day" if piece.value[0] else "start of the day",)
            self.said.setdefault("soft", []).append("day")
        elif piece.kind == "zone":
            self.place = self.place or piece.value
        elif piece.kind == "date":
            self.said.setdefault("date", []).extend(piece.value)
        else:
            self.said.setdefault(piece.kind, []).append(piece.value)
            self.days_are_every |= piece.kind == "days" and piece.hard
        if self.start < 0:
            self.start = piece.start
            self.leaves_out_first = piece.kind in _WITHOUT
        self.end = piece.end


def find_schedule_requests(pieces: Sequence[TimePhrase]) -> list[ScheduleRequest]:
    """Find the requests in a text; phrases without an interval or time are dropped."""
    overrides = [ScheduleRequest()]
    useful = [piece for piece in pieces if piece.kind != "nothing"]
    for at, piece in enumerate(useful):
        following = useful[at + 1] if at + 1 < len(useful) else None
        if _begins_anew(overrides[-1], piece, following):
            again = piece.kind == "clock" and _other_zone(overrides[-1], following)
            said = dict(overrides[-1].said) if again else {}
            overrides.append(ScheduleRequest(said=said))
        overrides[-1].add(piece)
    kept = [wish for wish in overrides if _says_when(wish)]
    _share(overrides, kept)
    _share_exceptions(kept)
    for wish in kept:
        wish.clock = tuple(_in_parts(one, wish.parts) for one in wish.clock)
    return kept


def _says_when(request: ScheduleRequest) -> bool:
    told = request.said.keys() & {"soft", "once", "mark", "often"}
    return request.has_rhythm or bool(request.clock) or bool(told) or "nightly" in request.parts


def _begins_anew(request: ScheduleRequest, piece: TimePhrase, following: TimePhrase | None) -> bool:
    if piece.kind == "clock":
        rhythm_next = following is not None and following.kind in _RHYTHMS
        near = following is not None and following.start - piece.end < 12
        if _other_zone(request, following):
            return True
        return bool(request.clock) and request.has_rhythm and rhythm_next and near
    if piece.kind == "every":
        return _every_anew(request, piece)
    if piece.kind == "part" and piece.hard:
        return bool(request.clock) and request.has_rhythm
    if piece.kind not in _DAYS or (piece.kind == "edge" and piece.value[1] == "day"):
        return False
    there = request.said.keys() & _DAYS
    if request.clock and there:
        return True
    if piece.kind == "days" and request.clock and (1, "day") in request.said.get("every", ()):
        # Every day at one time, and on some days at another.
        return following is not None and following.kind == "clock"
    return bool(there) and piece.kind not in there


def _other_zone(request: ScheduleRequest, following: TimePhrase | None) -> bool:
    """Times in two zones are two requests with the same interval."""
    named = request.place is not None and bool(request.clock)
    return named and following is not None and following.kind == "zone"


def _every_anew(request: ScheduleRequest, piece: TimePhrase) -> bool:
    count, unit = piece.value
    if "every" in request.said and unit in _SMALL:
        return request.is_small or bool(request.clock)
    if request.clock and "every" in request.said:
        return True
    return count > 1 and unit not in _SMALL and bool(request.said.keys() & {"every"})


def _share(requests: Sequence[ScheduleRequest], kept: Sequence[ScheduleRequest]) -> None:
    """A zone given once applies to all, and times carry over to later requests."""
    places = [wish.place for wish in requests if wish.place is not None]
    for wish in kept:
        if wish.place is None and places:
            wish.place = places[-1]
    for wish, later in pairwise(kept):
        if _lacks_times(wish) and later.start - wish.end < _NEXT_TO:
            wish.clock = later.clock
    for before, wish in pairwise(kept):
        if _lacks_times(wish):
            wish.clock, wish.inherited = before.clock, bool(before.clock)


def _share_exceptions(kept: Sequence[ScheduleRequest]) -> None:
    """Move an exclusion of days that its own request lacks to the other requests."""
    for wish in kept:
        left = {day for days in wish.said.get("without", ()) for day in days}
        own = {day for days in wish.said.get("days", ()) for day in days}
        if not left or not own or own & left:
            continue
        for other in kept:
            if {day for days in other.said.get("days", ()) for day in days} & left:
                other.said.setdefault("without", []).append(frozenset(left))


def _lacks_times(request: ScheduleRequest) -> bool:
    return not request.clock and not request.parts and not request.is_small


def _in_parts(time: ClockTime, parts: tuple[str, ...]) -> ClockTime:
    return in_part(time, parts[0]) if len(parts) == 1 else time
