"""Rules for days of the week, the month and the year."""

from __future__ import annotations

import re
from typing import Final

from mainspring.authoring.phrases.fragments import (
    DAY,
    MONTH,
    NTH,
    NUM,
    OF_MONTH,
    OF_UNIT,
    ORD,
    SEP,
    Made,
    Rule,
    days_of,
    number,
)
from mainspring.authoring.phrases.normalization import MONTHS

_FEASTS: Final = {
    "christmas eve": (24, 12),
    "christmas day": (25, 12),
    "christmas": (25, 12),
    "boxing day": (26, 12),
    "new year's eve": (31, 12),
    "new year's day": (1, 1),
    "halloween": (31, 10),
    "valentine's day": (14, 2),
}
_LONGEST: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _nths(found: re.Match[str]) -> Made:
    """``1 st and 3 rd mon``: the ordinals and the day of the week."""
    which = [
        -1 if one == "last" else 2 if one == "second" else number(one)
        for one in re.findall(NTH, found[1])
    ]
    days = days_of(found[2])
    if not all(one == -1 or 1 <= one <= 5 for one in which) or len(days) > 2:
        return None
    return "nth", (tuple(which), tuple(sorted(days))), True


def _nth_or_other(found: re.Match[str]) -> Made:
    """``every second fri``: of the month, or every other one."""
    said, days = found[1] or "other", days_of(found[3])
    which = 2 if said in {"second", "other"} else number(said)
    return "nth_or_other", (which, said == "other", days), True


def _month_days(found: re.Match[str]) -> Made:
    days = {number(one) for one in re.findall(ORD, found[1])}
    if "last day" in found[0]:
        days.add(-1)
    if not all(-1 <= day <= 31 and day for day in days):
        return "impossible", "No month has such a day.", True
    return "month_days", frozenset(days), True


def _dates(found: re.Match[str]) -> Made:
    months = re.findall(MONTH, found["month"])
    day = number(found["day"])
    if not 1 <= day <= 31:
        return None
    if found["year"]:
        return "once", found[0], True
    often = bool(found["every"]) or bool(found["often"]) or len(months) > 1
    return "date", tuple((day, MONTHS.index(month) + 1, often) for month in months), True


def _which(text: str) -> int:
    return -1 if text == "last" else 2 if text == "second" else number(text)


def _first_days(found: re.Match[str]) -> Made:
    """The first three days of the month; the last three would be counted from its end."""
    count = number(found[2])
    if found[1] == "last":
        return "before_end", count, True
    return ("month_days", frozenset(range(1, count + 1)), True) if 1 <= count <= 31 else None


def _day_range(found: re.Match[str]) -> Made:
    first, last = number(found[1]), number(found[2])
    if not 1 <= first <= last <= 31:
        return None
    return "month_days", frozenset(range(first, last + 1)), True


def _feast(found: re.Match[str]) -> Made:
    """A holiday with a fixed date."""
    often = bool(found["every"]) or bool(found["often"])
    return "date", ((*_FEASTS[found["feast"]], often),), True


def _date_range(found: re.Match[str]) -> Made:
    """``from 20 dec to 6 jan``, which may wrap around the year."""
    last_month = MONTHS.index(found[4]) + 1
    first_month = MONTHS.index(found[2]) + 1 if found[2] else last_month
    first, last = (first_month, int(found[1])), (last_month, int(found[3]))
    if " and " in found[0] and not found[0].startswith("between"):
        return None
    year = [(month, day) for month in range(1, 13) for day in range(1, _LONGEST[month - 1] + 1)]
    if first not in year or last not in year:
        return None
    begin, end = year.index(first), year.index(last)
    days = year[begin : end + 1] if begin <= end else [*year[begin:], *year[: end + 1]]
    return "date", tuple((day, month, bool(found["often"])) for month, day in days), True


def _eve(found: re.Match[str]) -> Made:
    """The day before another; only known for days of the week."""
    if found[1] == "weekends":
        return "days", frozenset({5}), True
    return "days", frozenset((day - 1) % 7 for day in days_of(found[1])), True


def _quarter_months(found: re.Match[str]) -> Made:
    """``of the last month of every quarter``: the months that are meant."""
    which = 3 if found[1] == "last" else _which(found[1])
    return ("months", frozenset(range(which, 13, 3)), True) if 1 <= which <= 3 else None


DAY_RULES: Final[tuple[Rule, ...]] = (
    (
        re.compile(
            rf"(?:(?:of|in|during) )?(?:the )?({NTH}) month (?:of|in) (?:every|the|a) quarter\b"
        ),
        _quarter_months,
    ),
    (
        re.compile(rf"(?:on )?(?:the )?({ORD})(?: day)? (?=(?:of|in) (?:every|the|a) quarter\b)"),
        lambda m: ("quarter_day", number(m[1]), True) if 1 < number(m[1]) <= 31 else None,
    ),
    # "Every 4th hour" is an interval; "every 4th" is a date.
    (
        re.compile(
            rf"(?:once )?every ({ORD}) (secs|minute|hour|week|fortnight|month|quarter|year)\b"
            r"(?! of (?:the |every |a )?(?:month|quarter|year)\b)"
        ),
        lambda m: ("every", (number(m[1]), m[2]), True) if number(m[1]) else None,
    ),
    (
        re.compile(
            rf"(?:(?:on|every) )?(?:the )?(?:{ORD}|second|next) (?:- )?to (?:- )?(?:the )?last"
            rf" (?:(?:working )?day|{DAY})\b(?:{OF_MONTH})?"
            rf"|(?:the )?penultimate (?:(?:working )?day|{DAY})\b(?:{OF_MONTH})?"
        ),
        lambda m: ("before_end", 1, True),
    ),
    (
        re.compile(
            rf"(?:(?P<every>every )|on |at )(?P<feast>{'|'.join(_FEASTS)})\b"
            r"(?P<often>(?: of)? (?:every year|yearly))?"
        ),
        _feast,
    ),
    (re.compile(rf"(?:on )?(?:the )?(1 st|last) ({NUM}) day{OF_MONTH}"), _first_days),
    (
        re.compile(
            r"(?:(?:from|between) )?(?:the )?(\d{1,2})(?: ?(?:st|nd|rd|th))?(?: of)?"
            rf"(?: ({MONTH}))? (?:-|to|and) (?:the )?(\d{{1,2}})(?: ?(?:st|nd|rd|th))?(?: of)?"
            rf" ({MONTH})\b"
            r"(?P<often>(?: of)? (?:every year|yearly))?"
        ),
        _date_range,
    ),
    (
        re.compile(rf"(?:on |from )?(?:the )?({ORD}) (?:-|to) (?:the )?({ORD}){OF_MONTH}"),
        _day_range,
    ),
    (
        re.compile(
            r"(?:on )?(?:the )?(?:eve of|(?:day|evening|night) before) (?:the |every |a )?"
            rf"(weekends|{DAY})\b"
        ),
        _eve,
    ),
    (
        re.compile(
            r"(?:during|in|within) (?:the )?(?:usual |normal |regular )?working hour\b|"
            r"(?:during|in|within) (?:the )?working day\b|working hour\b(?: only)?|"
            r"9 (?:- )?to (?:- )?5\b"
        ),
        lambda m: ("working_hours", None, True),
    ),
    (
        re.compile(
            rf"(?:(?:on )?the )?({ORD}|last|second) (?:working|week) ?days?\b(?:{OF_MONTH}"
            rf"|{OF_UNIT})?"
        ),
        lambda m: (
            "working_day",
            (_which(m[1]), m[2] or "month"),
            True,
        ),
    ),
    (
        re.compile(rf"(?:(?:on )?the )?({ORD}|last|second) weekdays\b(?:{OF_MONTH})?"),
        lambda m: (
            "working_day",
            (_which(m[1]), "month"),
            True,
        ),
    ),
    (
        re.compile(
            rf"({NUM}) (?:working )?day(?:'s)? before (?:the )?(?:end|last|close)\b[a-z"
            rf" ]{{0,20}}month"
        ),
        lambda m: ("before_end", number(m[1]), True),
    ),
    (
        re.compile(
            r"(?:at )?(?:the )?(end|start|beginning) of (?:the |every |a )?"
            r"(?:weekdays|working day)\b"
        ),
        lambda m: ("edge", (m[1] == "end", "weekdays"), True),
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
        re.compile(r"(?:at )?(month|quarter|year|week)(?:'s)? (?:- )?end\b"),
        lambda m: ("edge", (True, m[1]), True),
    ),
    (
        re.compile(rf"(?:(?:on|every) )?(?:the )?({ORD}(?:{SEP}{ORD}){{0,12}}) day{OF_MONTH}"),
        _month_days,
    ),
    (re.compile(r"(?:at )?close of (?:working|play)\b"), lambda m: ("edge", (True, "day"), True)),
    (re.compile(r"mid (?:- )?month\b"), lambda m: ("month_days", frozenset({15}), True)),
    (
        re.compile(
            rf"(?P<every>every )?(?:on )?(?:the )?(?P<day>\d{{1,2}})(?: ?(?:st|nd|rd|th))?(?: of)?"
            rf" (?P<month>{MONTH}(?:{SEP}{MONTH}){{0,11}})\b"
            r"(?:(?: ,)? (?P<year>20\d\d)\b)?(?P<often> (?:of )?(?:every year|yearly))?"
        ),
        _dates,
    ),
    (
        re.compile(
            rf"(?P<every>every )?(?:on )?(?P<month>{MONTH}) (?:the )?(?P<day>\d{{1,2}})\b(?!"
            rf" ?[:.h] ?\d| (?:am|pm)\b)"
            r"(?: ?(?:st|nd|rd|th)\b)?(?: ,? ?(?P<year>20\d\d)\b)?(?P<often> (?:of )?(?:every"
            r" year|yearly))?"
        ),
        _dates,
    ),
    (
        re.compile(
            rf"(?:every )?(?:on )?(?:the )?({NTH}(?:{SEP}{NTH}){{0,4}})"
            rf" ({DAY}(?:{SEP}{DAY})?)\b"
            rf"(?:{OF_MONTH}| every month)"
        ),
        _nths,
    ),
    (
        re.compile(
            rf"(?:every ({ORD}|second|other)|(?:on |every )?(alternate|alternating))"
            rf" ({DAY}|weekdays|weekends)\b"
        ),
        _nth_or_other,
    ),
    (
        re.compile(
            rf"(?:(?:on|every) )(?:the )?({NTH}(?:{SEP}{NTH}){{0,4}})"
            rf" ({DAY}(?:{SEP}{DAY})?)\b"
        ),
        _nths,
    ),
    (re.compile(rf"(?:the )({ORD}(?:{SEP}{ORD}){{0,4}}) ({DAY}(?:{SEP}{DAY})?)\b"), _nths),
    (re.compile(rf"(?:on )?(?:the )?({ORD}) ({DAY})\b"), _nths),
    (
        re.compile(
            rf"(?:on )?(?:the )?((?:{NTH}{SEP}){{0,4}}(?:last|second)) ({DAY}(?:{SEP}{DAY})?)"
            r"(?= (?:of|in) )"
        ),
        _nths,
    ),
    (
        re.compile(
            rf"(?:(?:on|every) )?(?:the )?(?:day )?({ORD}(?:{SEP}(?:{ORD}|last"
            rf" day)){{0,12}}){OF_MONTH}"
        ),
        _month_days,
    ),
    (
        re.compile(
            rf"(?:on|every) (?:the )?({ORD}(?:{SEP}(?:{ORD}|last day)){{0,12}})(?! [a-z]*(?:day"
            rf"|week|month|minute|hour|secs|quarter|year|fortnight|place|time|version|item|row|page|floor))"
        ),
        _month_days,
    ),
    (re.compile(rf"the ({ORD}(?:{SEP}{ORD}){{1,12}})(?! [a-z])"), _month_days),
    (
        re.compile(rf"(?:on )?day (\d{{1,2}}){OF_MONTH}"),
        lambda m: ("month_days", frozenset({int(m[1])}), True) if 1 <= int(m[1]) <= 31 else None,
    ),
    (
        re.compile(r"(?:on )?(?:the|its) last day(?: of it)?\b"),
        lambda m: ("edge", (True, "month"), True),
    ),
)
