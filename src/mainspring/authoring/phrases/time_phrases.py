"""Splitting a normalized text into time phrases."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final

from mainspring.authoring.phrases.clock import ClockTime, find_times, read_time
from mainspring.authoring.phrases.day_rules import DAY_RULES
from mainspring.authoring.phrases.fragments import (
    DAY,
    MONTH,
    NUM,
    ORD,
    PARTS,
    SEP,
    UNITS,
    Made,
    Rule,
    days_of,
    months_of,
    number,
)
from mainspring.authoring.phrases.negations import find_negation
from mainspring.authoring.phrases.normalization import NormalizedText
from mainspring.authoring.phrases.zones import find_zone

# Phrases that do not say when to run, and those that say it in an unusable way.

_MOVES: Final = "This falls on another date each time, and a schedule cannot tell which."
ASIDE_RULES: Final[tuple[Rule, ...]] = (
    # A start or end date, which a schedule does not have.
    (
        re.compile(
            r"(?:starting|beginning|commencing|ending|to|as of|for)(?: on| from| in| with)?"
            rf" (?:the )?(?:(?:next|this|end of) (?:{DAY}|{MONTH}|week|month|year)|tomorrow"
            rf"|today|next {NUM} (?:day|week|month)|{MONTH}\b(?! \d))"
        ),
        lambda m: ("limit", None, False),
    ),
    # References to the past and counts.
    (
        re.compile(
            rf"(?:the )?(?:last|past|previous|preceding|next|coming|this|current) (?:{NUM} )?"
            r"(?:minute|hour|day|week|month|quarter|year|weekends)\b(?! of| in every)(?:'s)?"
        ),
        lambda m: (
            None
            if m[0].startswith("the last day") or m[0] == "last day"
            else ("nothing", None, False)
        ),
    ),
    (
        re.compile(
            rf"(?:since|older than|more than|less than|within|for) (?:the )?(?:last )?{NUM} "
            r"(?:minute|hour|day|week|month|year)\b"
        ),
        lambda m: ("nothing", None, False),
    ),
    (
        re.compile(r"(?:of|for) the (?:day|week|month)(?! (?:at|on))\b(?='s| '| \w+)"),
        lambda m: ("nothing", None, False),
    ),
    # "The 9 o'clock meeting" and "what happened on Sunday" are content.
    (
        re.compile(
            r"(?:the|my|our|your|their|this|that) \d{1,2}(?: ?: ?\d\d| ?: ?\d\d (?:am|pm)"
            r"| (?:am|pm)| o'clock) (?!(?:on|every|and|or|to|in|at|by|each|daily|weekdays|weekends"
            rf"|{DAY})\b)(?=[a-z]{{3,}})"
        ),
        lambda m: ("nothing", None, False),
    ),
    (
        re.compile(
            r"(?:due|happen(?:s|ed|ing)?|occurr?(?:s|ed|ing)?|created|added|opened|closed|received"
            r"|arriv(?:es|ed|ing)|came in|signed up|filed|reported|changed|took place|expir\w+"
            r"|ending|ends|ended)(?: on| by| before| over| during| since)(?: the)?"
            rf" (?:{DAY}|weekends)\b(?! at )"
        ),
        lambda m: ("nothing", None, False),
    ),
    # A greeting.
    (
        re.compile(
            r"(?:nice|good|happy|great|lovely|relaxing|wonderful|pleasant|restful)(?: long| new)?"
            rf" (?:weekends|week|month|year|{DAY})\b(?! at )"
        ),
        lambda m: ("nothing", None, False),
    ),
    # Opening hours and timetables are content.
    (
        re.compile(r"(?:opens?|closes?|shuts?|departs?) at \d{1,2}(?: ?: ?\d\d)?(?: (?:am|pm)\b)?"),
        lambda m: ("nothing", None, False),
    ),
    # An open frequency, which needs a question.
    (
        re.compile(
            r"(?:regularly|periodically|frequently(?! asked| used)|occasionally|constantly"
            r"|continuously|continually|from time to time|(?:every )?now and (?:then|again)"
            r"|every so often|once in a while|at regular intervals|as often as possible"
            r"|all the time|around the clock)\b"
            r"|(?:on a )?regular (?:basis|updates?|reports?|summar(?:y|ies)|digests?|checks?)\b"
        ),
        lambda m: ("often", m[0], False),
    ),
    (
        re.compile(
            r"(?:several|some|many|multiple|a few|a couple of|various) times (?:a|an|per|every)"
            r" (?:hour|day|week|month|quarter|year)\b"
            r"|every (?:few|several|couple|couple of|some) (?:minute|hour|day|week|month)\b"
        ),
        lambda m: ("often", m[0], True),
    ),
    (
        re.compile(rf"(?:{NUM}|an?|half an?) (?:minute|hour|day|week|month) from now\b"),
        lambda m: ("once", m[0], True),
    ),
    (
        re.compile(r"in (?:half )?an? (?:(?:minute|hour)\b|(?:day|week|month)(?= [,.;!]|$))"),
        lambda m: ("once", m[0], True),
    ),
    # Dates that depend on the sun, the moon or the church year.
    (
        re.compile(
            r"(?:at|around|before|after|by)(?: the)? (?:sunset|sunrise|sundown|dawn|dusk)\b"
        ),
        lambda m: ("vague", m[0], False),
    ),
    (
        re.compile(
            r"(?:on|every|at|in|during)(?: the)? (?:easter(?: (?:sun|mon)\b)?|good fri\b|ash wed\b"
            r"|pentecost|whit (?:sun|mon)\b|ramadan|eid|diwali|passover|hanukkah|lunar new year"
            r"|chinese new year|(?:full|new) moon|solstice|equinox)"
        ),
        lambda m: ("impossible", _MOVES, True),
    ),
    (
        re.compile(r"(?:on|every)(?: the)?(?: public| bank| national| legal)? holidays?\b"),
        lambda m: ("impossible", "Public holidays are not known here.", True),
    ),
)


# Rules for intervals: every so many, so many times a week, daily, and at which minutes.


def _every(found: re.Match[str]) -> Made:
    many, unit = found[1], found[2]
    if many is None:
        count = 1
    elif many in {"other", "second", "2 nd", "alternate"}:
        count = 2
    else:
        count = number(many)
    return ("every", (count, unit), True) if count else None


def _mark(away: str, side: str) -> int:
    minutes = {"quarter": 15, "half": 30}.get(away) or int(away)
    return (minutes if side in {"past", "after"} else -minutes) % 60


RHYTHM_RULES: Final[tuple[Rule, ...]] = (
    (
        re.compile(rf"(?:every|a|1) {NUM} times (?:a|per|every|in a) (hour|day|week|month|year)\b"),
        lambda m: None,
    ),
    (
        re.compile(
            rf"(once|twice|{NUM} times|1 time|2 x|3 x) (?:a|an|per|every|in a|/)"
            rf" (second|minute|hour|day|week|month|quarter|year|fortnight)\b"
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
            rf"(?:once )?every (?:single )?(?:(other|second|alternate|{ORD}|{NUM}) ?(?:-"
            rf" )?)?({UNITS})(?:'s)?\b(?! (?:{PARTS})\b)"
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
    (
        re.compile(r"(?:on )?7 day (?:a|per|/) week\b|day in ,? ?(?:and )?day out\b"),
        lambda m: ("every", (1, "day"), True),
    ),
    (
        re.compile(r"(?:on )?([2-6]) day (?:a|per|every|/) week\b"),
        lambda m: ("times", (int(m[1]), "week"), True),
    ),
    (
        re.compile(r"(?:on )?all (?:the )?day (?=,? ?(?:except|but|apart|other|excluding|save))"),
        lambda m: ("every", (1, "day"), True),
    ),
    (re.compile(r"every second\b"), lambda m: ("every", (1, "secs"), True)),
    (
        re.compile(
            rf"(?:on )?(?:every )?(?:single )?(?:on )?((?:{DAY}|weekdays|weekends|working"
            rf" day)(?:(?: (?:-|to) {DAY})?(?:{SEP}(?:{DAY}|weekdays|weekends)){{0,8}})(?: (?:-"
            rf"|to) {DAY})?)\b"
        ),
        lambda m: ("days", days_of(m[0].replace("working day", "weekdays")), "every" in m[0]),
    ),
    (
        re.compile(r"(?:on |every )(?:working|week) day\b"),
        lambda m: ("days", frozenset({1, 2, 3, 4, 5}), True),
    ),
    (re.compile(r"working day\b"), lambda m: ("days", frozenset({1, 2, 3, 4, 5}), False)),
    (
        re.compile(rf"(?:every (?:day )?|in the |at )({PARTS})\b"),
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
        re.compile(
            r"(?:half|semi) ?(?:- )?(?:yearly|annually)\b|half-yearly\b|every half (?:a )?year\b"
        ),
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
        re.compile(rf"(?:from|between) ({MONTH} (?:-|to|and) {MONTH})\b"),
        lambda m: ("months", months_of(m[1].replace(" and ", " to ")), True),
    ),
    (
        re.compile(
            rf"(?:in|every|of|during) ({MONTH}(?:(?: (?:-|to) {MONTH})|(?:{SEP}(?:in"
            rf" )?{MONTH}){{0,11}}))\b(?! (?:be|not|have|also|need|want|\d)\b)"
        ),
        lambda m: ("months", months_of(m[1]), True),
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
            r"(?:at )?(?:(quarter|half|\d{1,2}) (past|after|to|before) (?:and|,|&) )?"
            r"(quarter|half|\d{1,2})(?: minute)? (past|after|to|before) (?:the|every)"
            r" (?:full |whole |new )?hour\b"
        ),
        lambda m: (
            "mark",
            (*((_mark(m[1], m[2]),) if m[1] else ()), _mark(m[3], m[4])),
            True,
        ),
    ),
    (
        re.compile(
            r"at (?:minute |: ?)\d{1,2}\b(?: (?:, and|and|,) (?:at )?(?:: ?)?\d{1,2}\b){0,11}"
        ),
        lambda m: (
            "mark",
            tuple(int(one) for one in re.findall(r"\d+", m[0]) if int(one) < 60),
            True,
        ),
    ),
    (re.compile(r"at (\d{1,2}) past\b(?! \d)"), lambda m: ("mark", (int(m[1]) % 60,), True)),
    (
        re.compile(
            rf"(?:day after tomorrow|tomorrow|tonight|today)\b(?!'s)"
            rf"|this (?:morning|afternoon|evening) (?=at)"
            rf"|(?:on )?(?:next|this) (?:coming )?{DAY}\b|in"
            rf" {NUM} (?:minute|hour|day|week)\b(?! (?:or|of))|just once\b|only once\b|1 time"
            rf" only\b|(?:once|1 time) (?=at|on|only)|on 20\d\d - \d\d - \d\d"
        ),
        lambda m: ("once", m[0], True),
    ),
    (
        re.compile(r"(?:in )?(?:my|our|local) (?:local )?(?:time ?zone|timezone|time)\b"),
        lambda m: ("own_zone", None, False),
    ),
)


MOST_PIECES: Final = 200
# In the order in which they are tried at each word.
_RULES: Final[tuple[Rule, ...]] = (*ASIDE_RULES, *DAY_RULES, *RHYTHM_RULES)


@dataclass(frozen=True, slots=True)
class TimePhrase:
    """A parsed phrase; ``hard`` when it can only be a time expression."""

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
# What may follow a bare hour: the end, or an action.
_GOES_ON: Final = re.compile(
    r" ?(?:$|[,.;:)!?>-]|(?:post|send|mail|email|tell|remind|notify|summarise|summarize|check|read"
    r"|fetch|write|share|ping|message|run|please|give|ask|call|log|alert|nudge)\b)"
)
_UNTIL: Final = re.compile(r" (?:-|to|and) ")
# The quarter or year that preceding days belong to.
_OF_STRETCH: Final = re.compile(
    r"(?:of|in|during|within) (?:the |every |a |any )?(?:single )?(?P<other>(?!half )[a-z]{3,12} )?"
    r"(?P<unit>half (?:- )?(?:a )?year|quarter|year)\b(?! ?(?:'|- end|end\b))"
)
_STRETCHES: Final = {"quarter": (1, "quarter"), "year": (1, "year")}
_OF_DAYS: Final = frozenset(
    {"nth", "nth_or_other", "month_days", "days", "date", "months", "quarter_day"}
)


def _opening(text: str, at: int) -> ClockTime | None:
    """The first time of a range: in "from 10 to 4" nothing is ten minutes to four."""
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
        # "From 6 to 8 pm": pm applies to both.
        first = replace(first, hour=first.hour + 12, sure=True)
    if not (opened or near or halved or (first.sure and last.sure)):
        return None
    return (first, last), last.end


def find_pieces(plain: NormalizedText) -> list[TimePhrase]:
    """Find every phrase in a text, in order."""
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
    """The quarter or year of preceding days: on the last Friday of the quarter."""
    days = next((one for one in reversed(pieces) if one.kind not in {"clock", "zone"}), None)
    found = _OF_STRETCH.match(text, start)
    if found is None or days is None or days.kind not in _OF_DAYS:
        return None
    if found["other"] not in {None, "calendar "}:
        reason = f"A schedule cannot tell the months of “{found['other']}{found['unit']}”."
        return TimePhrase("unknown_stretch", reason, start, found.end())
    return TimePhrase("every", _STRETCHES.get(found["unit"], (6, "month")), start, found.end())


def _bare_hour(plain: NormalizedText, start: int) -> TimePhrase | None:
    """An hour directly after days that counts nothing: Monday 9."""
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
