"""Times of day in their usual spellings: 9, 9am, 9:30, 17h30, noon, half past eight."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

_AP: Final = r"(?: (am|pm)\b)?"
_EXACT: Final = re.compile(
    rf"(\d{{1,2}}) ?(?:[:.]|h|o'clock) ?(\d\d)(?!\d){_AP}(?: (?:h|hour|o'clock)\b)?"
)
_ROUND: Final = re.compile(rf"(\d{{1,2}}) (?:(am|pm)\b|(?:o'clock|h)\b{_AP})")
_NOON: Final = re.compile(r"(?:12 )?(noon|midnight)\b")
_PAST: Final = re.compile(
    r"(?:a )?(half|quarter|20 (?:- )?5|\d{1,2})(?: minute)? (past|after|to|before) "
    rf"(\d{{1,2}}|noon|midnight)\b(?! (?:day|week|month|minute))(?: o'clock)?{_AP}"
)
_HALF: Final = re.compile(rf"half (\d{{1,2}})\b(?! (?:hour|day))(?: o'clock)?{_AP}")
_TWO_WORDS: Final = re.compile(rf"(\d{{1,2}}) (15|30|45)\b(?! [a-z]+s\b| ?[:%]){_AP}")
_FOUR: Final = re.compile(r"([01]\d|2[0-3])([0-5]\d)(?: (?:h|hour)\b)?(?= |$)")
_BARE: Final = re.compile(
    r"(\d{1,2})\b(?! ?(?:%|percent|(?:minute|hour|day|week|month)(?!ly)|times|st|nd|rd|th|least"
    r"|most|[:/.] ?\d))"
)
_PART: Final = re.compile(r" (?:in the|at|of the)? ?(morning|afternoon|evening|night)\b")
_ANCHOR: Final = re.compile(
    r"(?:at|@|by|around|about|circa|approximately|exactly|sharp|from)(?: (?:around|about"
    r"|exactly))? "
)
_NEXT: Final = re.compile(r" (?:, and|and|&|,|or|plus|\+|/)(?: then| again)?(?: at)? ")
_NOUN: Final = re.compile(r" ([a-z]{3,}s)\b")
# Plural words that may follow a time.
_AFTER_TIMES: Final = frozenset({"weekdays", "weekends", "days", "times", "hours"})
_SMALL: Final = {"half": 30, "quarter": 15}
MOST_TIMES: Final = 24


@dataclass(frozen=True, slots=True)
class ClockTime:
    """A time of day; ``sure`` when am or pm was given or is not in doubt.

    One that ``turns`` is read as is until a part of the day follows: 7:30 is in the morning, and
    7:30 in the evening is not.
    """

    hour: int
    minute: int
    sure: bool
    end: int
    turns: bool = False

    @property
    def minutes(self) -> int:
        return self.hour * 60 + self.minute


def find_times(text: str, at: int) -> tuple[list[ClockTime], int] | None:
    """Find the times at a position, such as ``at 8 , 12 and 5 pm``."""
    anchor = _ANCHOR.match(text, at)
    begun = anchor.end() if anchor else at
    first = read_time(text, begun, anchored=anchor is not None)
    if first is None:
        return None
    times = [first]
    while len(times) < MOST_TIMES:
        gap = _NEXT.match(text, times[-1].end)
        more = None if gap is None else read_time(text, gap.end(), anchored=True)
        if more is None or _counts_things(text, more.end):
            break
        times.append(more)
    return _shared_half(times, text), times[-1].end


def read_time(text: str, at: int, *, anchored: bool) -> ClockTime | None:
    found = (
        _parse_spelled_time(text, at)
        or _figures(text, at, anchored)
        or (_bare(text, at) if anchored else None)
    )
    if found is None or found.hour > 23 or found.minute > 59:
        return None
    part = _PART.match(text, found.end)
    if part is None:
        return found
    return replace(in_part(found, part[1]), end=part.end())


def in_part(time: ClockTime, part: str) -> ClockTime:
    """Apply a part of the day to a time: 7 in the evening is 19:00."""
    if time.sure and not time.turns:
        return time
    late = part in {"afternoon", "evening"} or (part == "night" and time.hour >= 6)
    hour = time.hour + 12 if late and 1 <= time.hour < 12 else time.hour
    return replace(time, hour=hour, sure=True, turns=False)


def _parse_spelled_time(text: str, at: int) -> ClockTime | None:
    if found := _NOON.match(text, at):
        return ClockTime(12 if found[1] == "noon" else 0, 0, True, found.end())
    if found := _PAST.match(text, at):
        if found[1].isdigit() and int(found[1]) % 5:
            return None
        away = _SMALL.get(found[1]) or (25 if " " in found[1] else int(found[1]))
        whole = {"noon": 12, "midnight": 24}.get(found[3]) or int(found[3])
        turned = _apply_half(whole, found[4])
        minutes = turned * 60 + (away if found[2] in {"past", "after"} else -away)
        sure = found[4] is not None or not found[3].isdigit() or whole > 12
        return ClockTime(minutes // 60 % 24, minutes % 60, sure, found.end())
    if found := _HALF.match(text, at):
        return ClockTime(_apply_half(int(found[1]), found[2]), 30, bool(found[2]), found.end())
    return None


def _figures(text: str, at: int, anchored: bool) -> ClockTime | None:
    if found := _EXACT.match(text, at):
        if " . " in found[0] and not anchored and not found[3]:
            return None
        hour = _apply_half(int(found[1]), found[3])
        hour = 0 if (hour, int(found[2])) == (24, 0) else hour
        return ClockTime(hour, int(found[2]), True, found.end(), turns=found[3] is None)
    if found := _ROUND.match(text, at):
        half = found[2] or found[3]
        hour = int(found[1])
        return ClockTime(_apply_half(hour, half) % 24, 0, bool(half) or hour > 12, found.end())
    if anchored and (found := _TWO_WORDS.match(text, at)):
        half = found[3]
        return ClockTime(_apply_half(int(found[1]), half), int(found[2]), bool(half), found.end())
    if anchored and (found := _FOUR.match(text, at)):
        return ClockTime(int(found[1]), int(found[2]), True, found.end())
    return None


def _bare(text: str, at: int) -> ClockTime | None:
    found = _BARE.match(text, at)
    if found is None or int(found[1]) > 24:
        return None
    hour = int(found[1])
    return ClockTime(hour % 24, 0, hour > 12 or hour == 0, found.end())


def _apply_half(hour: int, half: str | None) -> int:
    if half is None or hour > 12:
        return hour
    return hour % 12 + (12 if half == "pm" else 0)


def _counts_things(text: str, end: int) -> bool:
    """Report whether a number counts what follows: ``and 5 bullets``."""
    noun = _NOUN.match(text, end)
    return noun is not None and noun[1] not in _AFTER_TIMES


def _shared_half(times: list[ClockTime], text: str) -> list[ClockTime]:
    """``at 5 and 7 pm``: pm applies to both."""
    last = times[-1]
    if len(times) < 2 or not text[: last.end].endswith("pm"):
        return times
    return [
        replace(one, hour=one.hour + 12, sure=True)
        if not one.sure and one.hour < 12 and one.hour + 12 < last.hour
        else one
        for one in times
    ]
