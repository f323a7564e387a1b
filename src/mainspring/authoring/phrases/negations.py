"""Exclusions: never on Mondays, but not at night, except in August.

They are parsed before all other rules, because the days and times that follow would otherwise count
as requested. An exclusion is a phrase whose kind starts with ``without``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from mainspring.authoring.phrases.clock import ClockTime, find_times, read_time
from mainspring.authoring.phrases.fragments import (
    DAY,
    MONTH,
    NTH,
    OF_MONTH,
    ORD,
    SEP,
    days_of,
    months_of,
    number,
)

Window = tuple[tuple[ClockTime, ClockTime], int]
# The kind of a phrase, its value, and its end.
Found = tuple[str, Any, int]

_VERBS: Final = (
    "run|runs|running|fire|firing|send|sends|sending|sent|post|posts|posting|posted|do|doing|start"
    "|starting|trigger|happen|happening|working(?! hour| day)|go|be|execute|check|checking|mail"
    "|mailing|ping|it|this|that|them|me|us|please|anything|to|ever"
)
_PLACE: Final = (
    r"(?: (?:on|for|in|at|during|over|within|the|a|an|any|every|all|of|public|bank)){0,4}"
)
_WORD: Final = rf"(?: (?!{DAY}\b|{MONTH}\b|week|forget|miss|hesitate|and\b|but\b|then\b)[a-z'#@]+)"
_NOT: Final = (
    r"(?:do not|don't|dont|does not|doesn't|doesnt|should not|shouldn't|shouldnt|must not|mustn't"
    r"|will not|won't|need not|needn't|no need to|no longer|stop(?= [a-z]+ing\b))"
)
_LEAVES: Final = (
    r"(?:but )?(?:except(?:ing)?|excluding|apart from|aside from|other than|save for|minus|never"
    r"|not|no longer|no|without(?: any)?|with no(?:thing)?|nothing|skip(?:ping|s)?|omit(?:ting)?"
    r"|leav(?:e|ing) out|avoid(?:ing)?|stop|pause|drop|remove|instead of|rather than"
    r"|outside(?: of)?|unless it(?: is|'s)(?: an?)?"
    r"|(?:if|when) it(?: is not|'s not| isn't)(?: an?)?)"
)
_OPENINGS: Final = (
    re.compile(rf"{_LEAVES}(?: (?:{_VERBS})){{0,4}}{_PLACE} "),
    re.compile(
        rf"(?:but )?(?:please )?{_NOT}{_WORD}{{0,6}}? (?:on|for|in|at|during|over){_PLACE} "
    ),
    re.compile(rf"(?:but )?(?:please )?{_NOT}(?: (?:{_VERBS})){{0,4}}{_PLACE} "),
)
# "Every day but Sunday" excludes a day; "not on Monday but on Tuesday" names one.
_BUT: Final = re.compile(r"(?:but|bar)(?: (?:on|in))?(?: the)? ")
_ALL: Final = re.compile(r"(?:day|daily|weekdays|night|morning|evening|hour|month)$")
_LONGEST_BEFORE: Final = 12

_DAYS: Final = re.compile(
    rf"((?:{DAY}|weekdays|weekends|working day)(?: (?:-|to) {DAY})?"
    rf"(?:{SEP}(?:{DAY}|weekdays|weekends)(?: (?:-|to) {DAY})?){{0,6}})\b"
    rf"(?:(?:{SEP}|,? ?(?:and )?(?:public |bank )?)(?P<feast>holidays?)\b)?(?: runs?\b)?"
)
_MONTHS: Final = re.compile(rf"({MONTH}(?:(?: (?:-|to) |{SEP}){MONTH}){{0,11}})\b(?! \d)")
_HOLIDAYS: Final = re.compile(r"(?:public |bank |national |legal )?holidays?\b")
_PARTS: Final = re.compile(
    r"(?:(?:every )?(night|evening|morning|afternoon)\b|nightly\b|overnight\b)"
    r"(?!(?: ,)? (?:at )?\d)"
)
_POINTS: Final = re.compile(r"(?:12 )?(noon|midnight)\b")
_BOUND: Final = re.compile(r"(before|after|past|to) ")
_NTHS: Final = re.compile(rf"({NTH}(?:{SEP}{NTH}){{0,3}}) ?({DAY})?\b(?:{OF_MONTH})?")
_MONTH_DAYS: Final = re.compile(rf"({ORD}(?:{SEP}{ORD}){{0,12}})(?: day)?(?:{OF_MONTH})?")
_LAST_DAY: Final = re.compile(rf"last day\b(?:{OF_MONTH})?")
_WORKING: Final = re.compile(r"(?:working|office) hour\b")
_BEHIND: Final = re.compile(
    rf"(?:on )?((?:{DAY}|weekdays|weekends)(?:{SEP}(?:{DAY}|weekends)){{0,5}})"
    r" (?:is |are )?(?:excluded|excepted|aside|apart|left out|skipped|off)\b"
)
_NO_HOLIDAYS: Final = "Public holidays are not known here, so no schedule can leave them out."
_NO_WORKING: Final = "A schedule cannot leave out the working hours of some days only."
PARTS_OF_DAY: Final = {
    "night": (22 * 60, 30 * 60),
    "evening": (18 * 60, 22 * 60),
    "morning": (6 * 60, 12 * 60),
    "afternoon": (12 * 60, 18 * 60),
}


def find_negation(
    text: str, at: int, find_window: Callable[[str, int, bool], Window | None]
) -> Found | None:
    """Find the exclusion that starts here; None when there is none."""
    if found := _BEHIND.match(text, at):
        return "without", days_of(found[1]), found.end()
    for opening in _OPENINGS:
        if begun := opening.match(text, at):
            made = _object(text, begun, find_window)
            if made is not None:
                return made
    but = _BUT.match(text, at)
    if but is not None and _ALL.search(text[max(0, at - _LONGEST_BEFORE) : at].rstrip(" ,")):
        months = _MONTHS.match(text, but.end())
        if months is not None:
            return "without_months", months_of(months[1]), months.end()
        return _days(text, but.end())
    return None


def _object(
    text: str, begun: re.Match[str], find_window: Callable[[str, int, bool], Window | None]
) -> Found | None:
    """Parse what follows the negation, including prepositions before it."""
    at = begun.end()
    window = find_window(text, at, True)
    if window is not None:
        return "without_times", window[0], window[1]
    bound = _BOUND.match(text, at)
    time = None if bound is None else read_time(text, bound.end(), anchored=True)
    if bound is not None and time is not None:
        early = bound[1] in {"before", "to"}
        return "without_times", ("before" if early else "after", time), time.end
    for way in (_days, _calendar, _times):
        made = way(text, at)
        if made is not None:
            return made
    anchored = re.search(r" at $", begun[0]) is not None
    return _clock(text, at - len("at ") if anchored else at)


def _clock(text: str, at: int) -> Found | None:
    """Parse times of day, which need an unambiguous form without a preposition."""
    times = find_times(text, at)
    return None if times is None else ("without_times", ("at", tuple(times[0])), times[1])


def _days(text: str, at: int) -> Found | None:
    if found := _HOLIDAYS.match(text, at):
        return "impossible", _NO_HOLIDAYS, found.end()
    found = _DAYS.match(text, at)
    if found is None:
        return None
    if found["feast"]:
        return "impossible", _NO_HOLIDAYS, found.end()
    return "without", days_of(found[1].replace("working day", "weekdays")), found.end()


def _calendar(text: str, at: int) -> Found | None:
    if found := _MONTHS.match(text, at):
        return "without_months", months_of(found[1]), found.end()
    if found := _LAST_DAY.match(text, at):
        return "without_month_days", frozenset({-1}), found.end()
    if (found := _NTHS.match(text, at)) and (found[2] or not re.fullmatch(ORD, found[1])):
        return _nths(found)
    if found := _MONTH_DAYS.match(text, at):
        return "without_month_days", frozenset(map(number, re.findall(ORD, found[1]))), found.end()
    return None


def _nths(found: re.Match[str]) -> Found:
    which = frozenset(
        -1 if one == "last" else 2 if one == "second" else number(one)
        for one in re.findall(NTH, found[1])
    )
    return "without_nth", (which, days_of(found[2] or "")), found.end()


def _times(text: str, at: int) -> Found | None:
    if found := _WORKING.match(text, at):
        return "impossible", _NO_WORKING, found.end()
    if found := _POINTS.match(text, at):
        minutes = 0 if found[1] == "midnight" else 12 * 60
        time = ClockTime(minutes // 60, 0, True, found.end())
        return "without_times", ("at", (time,)), found.end()
    if found := _PARTS.match(text, at):
        return "without_times", ("part", found[1] or "night"), found.end()
    return None
