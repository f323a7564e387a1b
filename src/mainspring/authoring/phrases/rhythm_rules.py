"""Rules for how often: every so many, so many times a week, daily, and at which minutes."""

from __future__ import annotations

import re
from typing import Final

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
            rf"(?:tomorrow|tonight|today)\b(?!'s)|this (?:morning|afternoon|evening) (?=at)"
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
