"""The pieces of a time phrase, found one after the other in plain words.

Every pattern begins at a word and repeats only a few times, so that a text is read once,
however it was made.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from mainspring.authoring.phrases.clock import Time, find_times, read_time
from mainspring.authoring.phrases.words import DAYS, MONTHS, Plain
from mainspring.authoring.phrases.zones import find_zone

MOST_PIECES: Final = 200


@dataclass(frozen=True, slots=True)
class Piece:
    """What some words say; ``hard`` when they can only mean when something happens."""

    kind: str
    value: Any
    start: int
    end: int
    hard: bool = True


_DAY: Final = f"(?:{'|'.join(DAYS)})"
_MONTH: Final = f"(?:{'|'.join(MONTHS)})"
_SEP: Final = r" (?:, and|, or|and|&|,|or|plus|/|\+)(?: also)?(?: on)?(?: the)?(?: every)? "
_ORD: Final = r"(?:(?:20|30) (?:- )?)?\d{1,2} ?(?:st|nd|rd|th)\b"
_NTH: Final = rf"(?:{_ORD}|second|last)"
_OF_MONTH: Final = r"(?: (?:(?:of|in|on) )?(?:(?:the|every|a) )?(?:calendar )?month\b| monthly\b)"
_OF_UNIT: Final = r"(?: (?:of|in) (?:(?:the|every|a) )?(month|quarter|year|week)\b)"
_NUM: Final = r"(?:(?:20|30|40|50) (?:- )?[1-9](?!\d)|\d{1,5})"
_PARTS: Final = "morning|afternoon|evening|night|noon|midnight"

Made = tuple[str, Any, bool] | None
_Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], Made]]


def number(text: str) -> int:
    return sum(int(part) for part in re.findall(r"\d+", text))


def _days_of(text: str) -> frozenset[int]:
    days: set[int] = set()
    for found in re.finditer(rf"({_DAY})(?: (?:-|to) ({_DAY}))?|weekdays|weekends", text):
        if found[0] == "weekdays":
            days |= {1, 2, 3, 4, 5}
        elif found[0] == "weekends":
            days |= {0, 6}
        else:
            first = DAYS.index(found[1])
            span = (DAYS.index(found[2]) - first) % 7 if found[2] else 0
            days |= {(first + step) % 7 for step in range(span + 1)}
    return frozenset(days)


def _except(found: re.Match[str]) -> Made:
    if "holiday" in found[0]:
        text = "Public holidays are not known here, so no schedule can leave them out."
        return "impossible", text, True
    if re.search(rf"\b{_MONTH}\b", found[1]):
        return "months", frozenset(range(1, 13)) - _months_of(found[1]), True
    return "without", _days_of(found[1]), True


def _every(found: re.Match[str]) -> Made:
    many, unit = found[1], found[2]
    if many is None:
        count = 1
    elif many in {"other", "second", "2 nd", "alternate"}:
        count = 2
    else:
        count = number(many)
    return ("every", (count, unit), True) if count else None


def _nths(found: re.Match[str]) -> Made:
    """``1 st and 3 rd mon``: which of the month, and which day of the week."""
    which = [
        -1 if one == "last" else 2 if one == "second" else number(one)
        for one in re.findall(_NTH, found[1])
    ]
    days = _days_of(found[2])
    if not all(one == -1 or 1 <= one <= 5 for one in which) or len(days) > 2:
        return None
    return "nth", (tuple(which), tuple(sorted(days))), True


def _month_days(found: re.Match[str]) -> Made:
    days = {number(one) for one in re.findall(_ORD, found[1])}
    if "last day" in found[0]:
        days.add(-1)
    if not all(-1 <= day <= 31 and day for day in days):
        return "impossible", "No month has such a day.", True
    return "month_days", frozenset(days), True


def _dates(found: re.Match[str]) -> Made:
    months = re.findall(_MONTH, found["month"])
    day = number(found["day"])
    if not 1 <= day <= 31:
        return None
    if found["year"]:
        return "once", found[0], True
    often = bool(found["every"]) or bool(found["often"]) or len(months) > 1
    return "date", tuple((day, MONTHS.index(month) + 1, often) for month in months), True


def _window(found: re.Match[str]) -> Made:
    del found
    return "working_hours", None, True


_UNITS: Final = "secs|minute|hour|day|week|fortnight|month|quarter|year"
_RULES: Final[tuple[_Rule, ...]] = (
    # A beginning or an end, which a schedule does not have.
    (
        re.compile(
            r"(?:starting|beginning|commencing|ending|to|as of|for)(?: on| from| in| with)?"
            rf" (?:the )?(?:(?:next|this|end of) (?:{_DAY}|{_MONTH}|week|month|year)|tomorrow"
            rf"|today|next {_NUM} (?:day|week|month)|{_MONTH}\b(?! \d))"
        ),
        lambda m: ("limit", None, False),
    ),
    (re.compile(r"except (?:the|every) (?:last|1 st|second)\b"), lambda m: ("limit", None, False)),
    # What looks back or counts, and is not about when to run.
    (
        re.compile(
            rf"(?:the )?(?:last|past|previous|preceding|next|coming|this|current) (?:{_NUM} )?"
            r"(?:minute|hour|day|week|month|quarter|year|weekends)\b(?! of)(?:'s)?"
        ),
        lambda m: (
            None
            if m[0].startswith("the last day") or m[0] == "last day"
            else ("nothing", None, False)
        ),
    ),
    (
        re.compile(
            rf"(?:since|older than|more than|less than|within|for) (?:the )?(?:last )?{_NUM} "
            r"(?:minute|hour|day|week|month|year)\b"
        ),
        lambda m: ("nothing", None, False),
    ),
    (
        re.compile(r"(?:of|for) the (?:day|week|month)(?! (?:at|on))\b(?='s| '| \w+)"),
        lambda m: ("nothing", None, False),
    ),
    (
        re.compile(
            r"(?:during|in|within) (?:the )?(?:usual |normal |regular )?working hour\b|"
            r"(?:during|in|within) (?:the )?working day\b|working hour\b(?: only)?|9 - to - 5\b"
        ),
        _window,
    ),
    (
        re.compile(
            rf"(?:(?:on )?the )?({_ORD}|last|second) (?:working|week) ?days?\b(?:{_OF_MONTH}"
            rf"|{_OF_UNIT})?"
        ),
        lambda m: (
            "working_day",
            -1 if m[1] == "last" else 2 if m[1] == "second" else number(m[1]),
            True,
        ),
    ),
    (
        re.compile(rf"(?:(?:on )?the )?({_ORD}|last|second) weekdays\b(?:{_OF_MONTH})?"),
        lambda m: (
            "working_day",
            -1 if m[1] == "last" else 2 if m[1] == "second" else number(m[1]),
            True,
        ),
    ),
    (
        re.compile(
            rf"({_NUM}) (?:working )?day(?:'s)? before (?:the )?(?:end|last|close)\b[a-z"
            rf" ]{{0,20}}month"
        ),
        lambda m: ("before_end", number(m[1]), True),
    ),
    (
        re.compile(
            r"(?:on |every )?(?:the )?(?:very )?(end|last day|last|start|beginning|1 st day"
            r"|close) of "
            r"(?:the |every |a )?(?:working )?(month|quarter|year|week|day)\b"
        ),
        lambda m: ("edge", (m[1] in {"end", "last day", "last", "close"}, m[2]), True),
    ),
    (
        re.compile(r"(?:at )?(month|quarter|year|week) (?:- )?end\b"),
        lambda m: ("edge", (True, m[1]), True),
    ),
    (re.compile(r"(?:at )?close of (?:working|play)\b"), lambda m: ("edge", (True, "day"), True)),
    (re.compile(r"mid (?:- )?month\b"), lambda m: ("month_days", frozenset({15}), True)),
    (
        re.compile(
            rf"(?P<every>every )?(?:on )?(?:the )?(?P<day>\d{{1,2}})(?: ?(?:st|nd|rd|th))?(?: of)?"
            rf" (?P<month>{_MONTH}(?:{_SEP}{_MONTH}){{0,11}})\b"
            r"(?:(?: ,)? (?P<year>20\d\d)\b)?(?P<often> (?:of )?(?:every year|yearly))?"
        ),
        _dates,
    ),
    (
        re.compile(
            rf"(?P<every>every )?(?:on )?(?P<month>{_MONTH}) (?:the )?(?P<day>\d{{1,2}})\b(?!"
            rf" ?[:.h] ?\d| (?:am|pm)\b)"
            r"(?: ?(?:st|nd|rd|th)\b)?(?: ,? ?(?P<year>20\d\d)\b)?(?P<often> (?:of )?(?:every"
            r" year|yearly))?"
        ),
        _dates,
    ),
    (
        re.compile(
            rf"(?:every )?(?:on )?(?:the )?({_NTH}(?:{_SEP}{_NTH}){{0,4}})"
            rf" ({_DAY}(?:{_SEP}{_DAY})?)\b"
            rf"(?:{_OF_MONTH}| every month)"
        ),
        _nths,
    ),
    (
        re.compile(rf"every ({_ORD}|second|other|alternate) ({_DAY}|weekdays|weekends)\b"),
        lambda m: (
            "nth_or_other",
            (
                2 if m[1] in {"second", "other", "alternate"} else number(m[1]),
                m[1] in {"other", "alternate"},
                _days_of(m[2]),
            ),
            True,
        ),
    ),
    (
        re.compile(
            rf"(?:(?:on|every) )(?:the )?({_NTH}(?:{_SEP}{_NTH}){{0,4}})"
            rf" ({_DAY}(?:{_SEP}{_DAY})?)\b"
        ),
        _nths,
    ),
    (re.compile(rf"(?:the )({_ORD}(?:{_SEP}{_ORD}){{0,4}}) ({_DAY}(?:{_SEP}{_DAY})?)\b"), _nths),
    (re.compile(rf"(?:on )?(?:the )?({_ORD}) ({_DAY})\b"), _nths),
    (re.compile(rf"(?:on )?(?:the )?(last) ({_DAY})(?= (?:of|in) )"), _nths),
    (
        re.compile(
            rf"(?:(?:on|every) )?(?:the )?(?:day )?({_ORD}(?:{_SEP}(?:{_ORD}|last"
            rf" day)){{0,12}}){_OF_MONTH}"
        ),
        _month_days,
    ),
    (
        re.compile(
            rf"(?:on|every) (?:the )?({_ORD}(?:{_SEP}(?:{_ORD}|last day)){{0,12}})(?! [a-z]*(?:day"
            rf"|week|month|place|time|version|item|row|page|floor))"
        ),
        _month_days,
    ),
    (re.compile(rf"the ({_ORD}(?:{_SEP}{_ORD}){{1,12}})(?! [a-z])"), _month_days),
    (
        re.compile(rf"(?:on )?day (\d{{1,2}}){_OF_MONTH}"),
        lambda m: ("month_days", frozenset({int(m[1])}), True) if 1 <= int(m[1]) <= 31 else None,
    ),
    (re.compile(r"(?:on )?the last day(?: of it)?\b"), lambda m: ("edge", (True, "month"), True)),
    (
        re.compile(
            rf"(?:every|a|1) {_NUM} times (?:a|per|every|in a) (hour|day|week|month|year)\b"
        ),
        lambda m: None,
    ),
    (
        re.compile(
            rf"(once|twice|{_NUM} times|1 time|2 x|3 x) (?:a|an|per|every|in a|/) (minute|hour|day"
            rf"|week|month|quarter|year|fortnight)\b"
        ),
        lambda m: (
            "times",
            (1 if m[1] in {"once", "1 time"} else 2 if m[1] == "twice" else number(m[1]), m[2]),
            True,
        ),
    ),
    (
        re.compile(r"(twice|\d{1,2} times) (daily|weekly|monthly|hourly|yearly)\b"),
        lambda m: (
            "times",
            (
                2 if m[1] == "twice" else number(m[1]),
                {
                    "daily": "day",
                    "weekly": "week",
                    "monthly": "month",
                    "hourly": "hour",
                    "yearly": "year",
                }[m[2]],
            ),
            True,
        ),
    ),
    (
        re.compile(
            r"(?:except|but not|but|apart from|excluding|other than|not|without)(?: on| for| in)?"
            rf"(?: the)?(?: public| bank)? ((?:{_DAY}|weekends|{_MONTH}|holidays?)"
            rf"(?:{_SEP}(?:{_DAY}|{_MONTH}|holidays?)|(?: (?:-|to) {_DAY})){{0,5}})\b"
        ),
        _except,
    ),
    (
        re.compile(r"every (?:half (?:- )?(?:an )?hour|1 / 2 hour|30 minute)\b"),
        lambda m: ("every", (30, "minute"), True),
    ),
    (re.compile(r"(?:every )?(?:half (?:- )?hourly)\b"), lambda m: ("every", (30, "minute"), True)),
    (
        re.compile(r"every quarter (?:of an |of the )?(?:- )?hour\b"),
        lambda m: ("every", (15, "minute"), True),
    ),
    (
        re.compile(r"every (?:hour and a half|1 (?:\.|,) 5 hour|1 and a half hour)\b"),
        lambda m: ("every", (90, "minute"), True),
    ),
    (
        re.compile(
            rf"(?:once )?every (?:single )?(?:(other|second|alternate|{_ORD}|{_NUM}) ?(?:-"
            rf" )?)?({_UNITS})(?:'s)?\b(?! (?:{_PARTS})\b)"
        ),
        _every,
    ),
    (
        re.compile(r"every (\d{1,3}) ?(m|h|d|w)\b"),
        lambda m: (
            (
                "every",
                (int(m[1]), {"m": "minute", "h": "hour", "d": "day", "w": "week"}[m[2]]),
                True,
            )
            if int(m[1])
            else None
        ),
    ),
    (re.compile(r"every second\b"), lambda m: ("every", (1, "secs"), True)),
    (
        re.compile(
            rf"(?:on )?(?:every )?(?:single )?(?:on )?((?:{_DAY}|weekdays|weekends|working"
            rf" day)(?:(?: (?:-|to) {_DAY})?(?:{_SEP}(?:{_DAY}|weekdays|weekends)){{0,8}})(?: (?:-"
            rf"|to) {_DAY})?)\b"
        ),
        lambda m: ("days", _days_of(m[0].replace("working day", "weekdays")), "every" in m[0]),
    ),
    (
        re.compile(r"(?:on |every )(?:working|week) day\b"),
        lambda m: ("days", frozenset({1, 2, 3, 4, 5}), True),
    ),
    (re.compile(r"working day\b"), lambda m: ("days", frozenset({1, 2, 3, 4, 5}), False)),
    (
        re.compile(rf"(?:every (?:day )?|in the |at )({_PARTS})\b"),
        lambda m: (
            ("part", m[1], m[0].startswith("every"))
            if m[1] not in {"noon", "midnight"} or m[0].startswith("every")
            else None
        ),
    ),
    (re.compile(r"nightly\b"), lambda m: ("part", "nightly", False)),
    (re.compile(r"fortnightly\b"), lambda m: ("every", (1, "fortnight"), True)),
    (
        re.compile(r"bi ?(?:- )?(weekly|monthly)\b|semi ?(?:- )?(weekly|monthly)\b"),
        lambda m: ("twofold", m[1], True) if m[1] else ("times", (2, m[2][:-2]), True),
    ),
    (re.compile(r"bimonthly\b|biweekly\b"), lambda m: ("twofold", m[0][2:], True)),
    (
        re.compile(r"(?:half|semi) ?(?:- )?(?:yearly|annually)\b|half-yearly\b"),
        lambda m: ("every", (6, "month"), True),
    ),
    (
        re.compile(r"(hourly|daily|weekly|monthly|quarterly|yearly)\b"),
        lambda m: (
            "soft",
            {
                "hourly": "hour",
                "daily": "day",
                "weekly": "week",
                "monthly": "month",
                "quarterly": "quarter",
                "yearly": "year",
            }[m[1]],
            False,
        ),
    ),
    (
        re.compile(
            rf"(?:in|every|of|during) ({_MONTH}(?:(?: (?:-|to) {_MONTH})|(?:{_SEP}(?:in"
            rf" )?{_MONTH}){{0,11}}))\b(?! (?:be|not|have|also|need|want|\d)\b)"
        ),
        lambda m: ("months", _months_of(m[1]), True),
    ),
    (
        re.compile(r"(?:at |on )?(?:the )?(?:top of the hour|on the hour)\b"),
        lambda m: ("mark", (0,), True),
    ),
    (
        re.compile(
            r"on the half (?:- )?hour\b|at half past(?: the hour)?(?! \d)\b|at the bottom of the"
            r" hour\b"
        ),
        lambda m: ("mark", (30,), True),
    ),
    (
        re.compile(
            r"(?:at )?(quarter|half|\d{1,2})(?: minute)? (past|after|to|before) (?:the|every)"
            r" hour\b"
        ),
        lambda m: ("mark", (_mark(m[1], m[2]),), True),
    ),
    (
        re.compile(r"at (?:minute |: ?)(\d{1,2})(?: (?:and|,) (?:: ?)?(\d{1,2}))?\b"),
        lambda m: ("mark", tuple(int(one) for one in m.groups() if one and int(one) < 60), True),
    ),
    (re.compile(r"at (\d{1,2}) past\b(?! \d)"), lambda m: ("mark", (int(m[1]) % 60,), True)),
    (
        re.compile(
            rf"(?:tomorrow|tonight|today)\b(?!'s)|(?:on )?(?:next|this) (?:coming )?{_DAY}\b|in"
            rf" {_NUM} (?:minute|hour|day|week)\b(?! (?:or|of))|just once\b|only once\b|1 time"
            rf" only\b|once (?=at|on|only)|on 20\d\d - \d\d - \d\d"
        ),
        lambda m: ("once", m[0], True),
    ),
    (
        re.compile(r"(?:in )?(?:my|our|local) (?:local )?(?:time ?zone|timezone|time)\b"),
        lambda m: ("own_zone", None, False),
    ),
)


def _mark(away: str, side: str) -> int:
    minutes = {"quarter": 15, "half": 30}.get(away) or int(away)
    return (minutes if side in {"past", "after"} else -minutes) % 60


def _months_of(text: str) -> frozenset[int]:
    found = re.findall(_MONTH, text)
    numbers = [MONTHS.index(one) + 1 for one in found]
    if re.search(rf"{_MONTH} (?:-|to) {_MONTH}", text):
        span = (numbers[1] - numbers[0]) % 12
        return frozenset((numbers[0] - 1 + step) % 12 + 1 for step in range(span + 1))
    return frozenset(numbers)


_NEAR: Final = re.compile(r" ?[,(&]? ?(?:and )?")
_NO_TIME: Final = re.compile(r"at (\d{1,3}) ?: ?(\d{1,3})\b")
_VAGUE: Final = re.compile(r"(?:before|after|past|later than|no later than) ")
_PART_ALONE: Final = re.compile(rf"({_PARTS})\b")
_FROM: Final = re.compile(r"(?:only )?(?:(?:between|from)(?: the hour of)?|during) ")
_UNTIL: Final = re.compile(r" (?:-|to|and) ")


def _find_window(text: str, at: int, near: bool) -> tuple[tuple[Time, Time], int] | None:
    opened = _FROM.match(text, at)
    first = read_time(text, opened.end() if opened else at, anchored=True)
    gap = None if first is None else _UNTIL.match(text, first.end)
    if first is None or gap is None or (opened is None and gap[0] == " and "):
        return None
    last = read_time(text, gap.end(), anchored=True)
    if last is None:
        return None
    halved = text[last.end - 2 : last.end] in {"am", "pm"}
    if not (opened or near or halved or (first.sure and last.sure)):
        return None
    return (first, last), last.end


def find_pieces(plain: Plain) -> list[Piece]:
    """Every piece in a text, from its beginning to its end."""
    pieces: list[Piece] = []
    text, at = plain.text, 0
    starts = sorted({0, *(found.end() for found in re.finditer(" ", text))})
    for start in starts:
        if start < at or len(pieces) >= MOST_PIECES:
            continue
        after = bool(pieces) and pieces[-1].kind != "nothing"
        near = after and _NEAR.fullmatch(text[at : min(start, at + 9)]) is not None
        piece = _piece_at(plain, start, near)
        if piece is not None:
            pieces.append(piece)
            at = piece.end
    return pieces


def _piece_at(plain: Plain, start: int, near: bool) -> Piece | None:
    text = plain.text
    window = _find_window(text, start, near)
    if window is not None:
        return Piece("window", window[0], start, window[1])
    for pattern, make in _RULES:
        found = pattern.match(text, start)
        made = None if found is None else make(found)
        if found is not None and made is not None and found.end() > start:
            return Piece(made[0], made[1], start, found.end(), made[2])
    zone = find_zone(text, start, plain.original, near)
    if zone is not None:
        return Piece("zone", zone[0], start, zone[1], hard=False)
    times = find_times(text, start)
    if times is not None:
        return Piece("clock", tuple(times[0]), start, times[1], hard=False)
    if bad := _NO_TIME.match(text, start):
        return Piece("no_time", f"{bad[1]}:{bad[2]}", start, bad.end(), hard=False)
    vague = _VAGUE.match(text, start)
    bound = None if vague is None else read_time(text, vague.end(), anchored=False)
    if bound is not None:
        return Piece("vague", text[start : bound.end], start, bound.end, hard=False)
    part = _PART_ALONE.match(text, start) if near else None
    return Piece("part", part[1], start, part.end(), hard=False) if part else None
