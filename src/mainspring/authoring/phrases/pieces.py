"""The pieces of a time phrase, found one after the other in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final

from mainspring.authoring.phrases.aside_rules import ASIDE_RULES
from mainspring.authoring.phrases.clock import ClockTime, find_times, read_time
from mainspring.authoring.phrases.day_rules import DAY_RULES
from mainspring.authoring.phrases.fragments import MONTH, PARTS, Rule
from mainspring.authoring.phrases.negations import find_negation
from mainspring.authoring.phrases.rhythm_rules import RHYTHM_RULES
from mainspring.authoring.phrases.words import NormalizedText
from mainspring.authoring.phrases.zones import find_zone

MOST_PIECES: Final = 200
# In the order in which they are tried at each word.
_RULES: Final[tuple[Rule, ...]] = (*ASIDE_RULES, *DAY_RULES, *RHYTHM_RULES)


@dataclass(frozen=True, slots=True)
class TimePhrase:
    """What some words say; ``hard`` when they can only mean when something happens."""

    kind: str
    value: Any
    start: int
    end: int
    hard: bool = True


_NEAR: Final = re.compile(r" ?[,(&]? ?(?:and )?")
_NO_TIME: Final = re.compile(r"at (\d{1,3}) ?: ?(\d{1,3})\b")
_VAGUE: Final = re.compile(r"(?:before|after|past|later than|no later than) ")
_PART_ALONE: Final = re.compile(rf"({PARTS})\b")
_FROM: Final = re.compile(r"(?:only )?(?:(?:between|from)(?: the hour of)?|during) ")
_HOUR_TO: Final = re.compile(r"(\d{1,2}) (?:to|-) (?=\d{1,2}\b(?! to \d))")
_MONTH_NEXT: Final = re.compile(rf" (?:of )?{MONTH}\b")
_DAYLY: Final = frozenset({"days", "every"})
# What may follow an hour that stands alone: an end, or something to be done.
_GOES_ON: Final = re.compile(
    r" ?(?:$|[,.;:)!?>-]|(?:post|send|mail|email|tell|remind|notify|summarise|summarize|check|read"
    r"|fetch|write|share|ping|message|run|please|give|ask|call|log|alert|nudge)\b)"
)
_UNTIL: Final = re.compile(r" (?:-|to|and) ")
# Behind days: the quarter or the year that they are days of.
_OF_STRETCH: Final = re.compile(
    r"(?:of|in|during|within) (?:the |every |a |any )?(?:single )?(?P<other>(?!half )[a-z]{3,12} )?"
    r"(?P<unit>half (?:- )?(?:a )?year|quarter|year)\b(?! ?(?:'|- end|end\b))"
)
_STRETCHES: Final = {"quarter": (1, "quarter"), "year": (1, "year")}
_OF_DAYS: Final = frozenset(
    {"nth", "nth_or_other", "month_days", "days", "date", "months", "quarter_day"}
)


def _opening(text: str, at: int) -> ClockTime | None:
    """The first time of a stretch: in "from 10 to 4" no time is ten minutes to four."""
    if found := _HOUR_TO.match(text, at):
        hour = int(found[1])
        return ClockTime(hour % 24, 0, hour > 12 or hour == 0, found.end(1)) if hour <= 24 else None
    return read_time(text, at, anchored=True)


def _find_window(text: str, at: int, near: bool) -> tuple[tuple[ClockTime, ClockTime], int] | None:
    opened = _FROM.match(text, at)
    first = _opening(text, opened.end()) if opened else read_time(text, at, anchored=True)
    gap = None if first is None else _UNTIL.match(text, first.end)
    if first is None or gap is None or (opened is None and gap[0] == " and "):
        return None
    last = read_time(text, gap.end(), anchored=True)
    if last is None or _MONTH_NEXT.match(text, last.end):
        return None
    half = text[last.end - 2 : last.end]
    halved = half in {"am", "pm"}
    if half == "pm" and not first.sure and first.hour < last.hour - 12:
        # From 6 to 8 pm is both in the evening.
        first = replace(first, hour=first.hour + 12, sure=True)
    if not (opened or near or halved or (first.sure and last.sure)):
        return None
    return (first, last), last.end


def find_pieces(plain: NormalizedText) -> list[TimePhrase]:
    """Every piece in a text, from its beginning to its end."""
    pieces: list[TimePhrase] = []
    text, at = plain.text, 0
    starts = sorted({0, *(found.end() for found in re.finditer(" ", text))})
    for start in starts:
        if start < at or len(pieces) >= MOST_PIECES:
            continue
        after = bool(pieces) and pieces[-1].kind != "nothing"
        near = after and _NEAR.fullmatch(text[at : min(start, at + 9)]) is not None
        piece = _stretch_at(text, start, pieces) if near else None
        piece = piece or _piece_at(plain, start, near)
        if piece is None and near and pieces[-1].kind in _DAYLY:
            piece = _bare_hour(plain, start)
        if piece is not None:
            pieces.append(piece)
            at = piece.end
    return pieces


def _stretch_at(text: str, start: int, pieces: list[TimePhrase]) -> TimePhrase | None:
    """The quarter or the year whose days were said: on the last Friday of the quarter."""
    days = next((one for one in reversed(pieces) if one.kind not in {"clock", "zone"}), None)
    found = _OF_STRETCH.match(text, start)
    if found is None or days is None or days.kind not in _OF_DAYS:
        return None
    if found["other"] not in {None, "calendar "}:
        reason = f"A schedule cannot tell the months of “{found['other']}{found['unit']}”."
        return TimePhrase("unknown_stretch", reason, start, found.end())
    return TimePhrase("every", _STRETCHES.get(found["unit"], (6, "month")), start, found.end())


def _bare_hour(plain: NormalizedText, start: int) -> TimePhrase | None:
    """An hour right behind the days, where nothing follows that it could count: Monday 9."""
    hour = read_time(plain.text, start, anchored=True)
    if hour is None:
        return None
    behind = plain.text[hour.end :]
    zoned = behind.startswith(" ") and find_zone(plain.text, hour.end + 1, plain.original, True)
    if not zoned and _GOES_ON.match(behind) is None:
        return None
    return TimePhrase("clock", (hour,), start, hour.end, hard=False)


def _piece_at(plain: NormalizedText, start: int, near: bool) -> TimePhrase | None:
    text = plain.text
    negated = find_negation(text, start, _find_window)
    if negated is not None:
        return TimePhrase(negated[0], negated[1], start, negated[2])
    window = _find_window(text, start, near)
    if window is not None:
        return TimePhrase("window", window[0], start, window[1])
    for pattern, make in _RULES:
        found = pattern.match(text, start)
        made = None if found is None else make(found)
        if found is not None and made is not None and found.end() > start:
            return TimePhrase(made[0], made[1], start, found.end(), made[2])
    zone = find_zone(text, start, plain.original, near)
    if zone is not None:
        return TimePhrase("zone", zone[0], start, zone[1], hard=False)
    times = find_times(text, start)
    if times is not None:
        return TimePhrase("clock", tuple(times[0]), start, times[1], hard=False)
    if bad := _NO_TIME.match(text, start):
        return TimePhrase("no_time", f"{bad[1]}:{bad[2]}", start, bad.end(), hard=False)
    vague = _VAGUE.match(text, start)
    bound = None if vague is None else read_time(text, vague.end(), anchored=near)
    if bound is not None:
        return TimePhrase("vague", text[start : bound.end], start, bound.end, hard=False)
    part = _PART_ALONE.match(text, start) if near else None
    return TimePhrase("part", part[1], start, part.end(), hard=False) if part else None
