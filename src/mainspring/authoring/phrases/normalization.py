"""Normalization of a request: one spelling per word, with source positions.

The text is truncated, and each character is read once.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

LONGEST: Final = 4_000

_TOKEN: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]{1,6})?|\d+|[^\s\w]|_")
DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY_NAMES: Final = (
    "sunday sundays sun suns",
    "monday mondays mon mons",
    "tuesday tuesdays tue tues",
    "wednesday wednesdays wed weds",
    "thursday thursdays thu thur thurs",
    "friday fridays fri fris",
    "saturday saturdays sat sats",
)
_MONTH_NAMES: Final = (
    "january jan",
    "february feb",
    "march mar",
    "april apr",
    "may",
    "june jun",
    "july jul",
    "august aug",
    "september sep sept",
    "october oct",
    "november nov",
    "december dec",
)
_NUMBERS: Final = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
)
_ORDINALS: Final = (
    "-",
    "first",
    "-",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
)
_SAME: Final = {
    "evry": "every",
    "ev": "every",
    "each": "every",
    "evey": "every",
    "eveyr": "every",
    "min": "minute",
    "mins": "minute",
    "minutes": "minute",
    "hr": "hour",
    "hrs": "hour",
    "hours": "hour",
    "days": "day",
    "weeks": "week",
    "wk": "week",
    "months": "month",
    "quarters": "quarter",
    "years": "year",
    "yr": "year",
    "seconds": "secs",
    "sec": "secs",
    "fortnights": "fortnight",
    "weekday": "weekdays",
    "workday": "weekdays",
    "workdays": "weekdays",
    "weekend": "weekends",
    "mornings": "morning",
    "evenings": "evening",
    "afternoons": "afternoon",
    "nights": "night",
    "nightly": "nightly",
    "midday": "noon",
    "thru": "to",
    "through": "to",
    "till": "to",
    "til": "to",
    "until": "to",
    "upto": "to",
    "oclock": "o'clock",
    "o’clock": "o'clock",
    "annually": "yearly",
    "annual": "yearly",
    "everyday": "every day",
    "per": "per",
    "business": "working",
    "work": "working",
    "office": "working",
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "ninety": "90",
    "xmas": "25 dec",
    "noontime": "noon",
    "lunchtime": "noon",
    "lunch": "noon",
    "uhr": "o'clock",
    "dayly": "daily",
    "weekely": "weekly",
    "dialy": "daily",
    "mid-night": "midnight",
    "thrice": "3 times",
    "times": "times",
    "eod": "end of day",
    "eom": "end of month",
    "cob": "end of day",
    "hourly": "hourly",
    "biweekly": "biweekly",
    "semiannually": "half-yearly",
    "tommorow": "tomorrow",
    "tomorow": "tomorrow",
    "noons": "noon",
    "wensday": "wed",
    "wendesday": "wed",
    "tuesady": "tue",
    "firday": "fri",
    "thrusday": "thu",
    "satuday": "sat",
    "wkday": "weekdays",
    "wkdays": "weekdays",
    "wkend": "weekends",
    "wkends": "weekends",
    "final": "last",
    "midnite": "midnight",
    "daly": "daily",
    "mornign": "morning",
    "fortnightly": "fortnightly",
}
_TWO_LETTERS: Final = {
    "su": "sun",
    "mo": "mon",
    "tu": "tue",
    "we": "wed",
    "th": "thu",
    "fr": "fri",
    "sa": "sat",
}
# Day abbreviations that are also words: the sun, she sat, they wed.
_WORDS_TOO: Final = frozenset({"sun", "suns", "sat", "wed", "weds"})
_BEFORE_DAYS: Final = frozenset(
    {
        "every",
        "on",
        "next",
        "this",
        "last",
        "second",
        "other",
        "alternate",
        "except",
        "not",
        "also",
        "but",
        "only",
        "never",
        "st",
        "nd",
        "rd",
        "th",
        "am",
        "pm",
        "o'clock",
    }
)
_AFTER_DAYS: Final = frozenset(
    {"at", "@", "morning", "afternoon", "evening", "night", "noon", "midnight"}
)
_ARTICLES: Final = frozenset({"the", "a", "our", "their", "its", "that"})
_PART_PLURALS: Final = frozenset({"mornings", "afternoons", "evenings", "nights"})
# After one of these, "mornings" refers to the named days.
_BEFORE_PARTS: Final = frozenset({*DAYS, "weekdays", "weekends", "every", "day"})
# The limit of a list of abbreviated days.
_MOST_SHORT: Final = 20
_JOINS: Final = frozenset({"-", ",", "/", "&", "+", "to", "and"})
_KEYS: Final = (
    "sunday",
    "mondays",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "january",
    "february",
    "august",
    "september",
    "october",
    "november",
    "december",
    "every",
    "weekday",
    "weekdays",
    "weekend",
    "weekends",
    "morning",
    "evening",
    "afternoon",
    "midnight",
    "daily",
    "weekly",
    "monthly",
    "hourly",
    "quarterly",
    "yearly",
    "minutes",
    "minute",
    "hours",
    "quarter",
    "months",
    "month",
    "fortnight",
)
# Real words that are one typo away from a time word.
_NOT_SLIPS: Final = frozenset(
    {
        "dairy",
        "ever",
        "very",
        "money",
        "mooring",
        "warning",
        "mouth",
        "mouths",
        "moth",
        "moths",
        "hourlies",
        "fever",
        "never",
        "sever",
        "evert",
        "level",
        "event",
        "events",
        "hour",
        "ours",
        "yours",
        "tours",
        "fours",
        "quarters",
        "weekly",
        "weekends",
        "remember",
        "houses",
        "house",
        "horses",
        "mints",
        "monthlies",
        "octobers",
        "quartet",
        "evenings",
        "evening",
        "mourning",
        "morning",
        "daisy",
        "meekly",
        "yearling",
        "yearly",
        "nearly",
        "dearly",
        "early",
    }
)

# A normalized word and its source span.
Placed = tuple[str, tuple[int, int]]


def _build_spellings() -> dict[str, str]:
    known = dict(_SAME)
    for names, short in ((_DAY_NAMES, DAYS), (_MONTH_NAMES, MONTHS)):
        for spelled, one in zip(names, short, strict=True):
            known |= dict.fromkeys(spelled.split(), one)
    known |= {word: str(number) for number, word in enumerate(_NUMBERS)}
    endings = {1: "st", 2: "nd", 3: "rd"}
    known |= {
        word: f"{number} {endings.get(number, 'th')}"
        for number, word in enumerate(_ORDINALS)
        if word != "-"
    }
    return known


_KNOWN: Final = _build_spellings()


def _slips(word: str) -> set[str]:
    """Generate every text one typo away: a letter missing, doubled, wrong or swapped."""
    mails = "abcdefghijklmnopqrstuvwxyz"
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    lost = {left + right[1:] for left, right in cuts if right}
    swapped = {left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1}
    wrong = {left + one + right[1:] for left, right in cuts if right for one in mails}
    more = {left + one + right for left, right in cuts for one in mails}
    return lost | swapped | wrong | more


@cache
def _slip_table() -> dict[str, str]:
    table: dict[str, str] = {}
    for key in _KEYS:
        for slip in _slips(key):
            if len(slip) >= 5 and slip[0] == key[0] and slip not in _NOT_SLIPS:
                table.setdefault(slip, key)
    for key in (*_KEYS, *_KNOWN):
        table.pop(key, None)
    return table


@dataclass(frozen=True, slots=True)
class NormalizedText:
    """A normalized text with single spaces, and the mapping to the original."""

    original: str
    text: str
    # The start of each normalized word, and its source span.
    begins: tuple[int, ...]
    stood: tuple[tuple[int, int], ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        first = bisect_right(self.begins, start) - 1
        last = bisect_right(self.begins, max(start, end - 1)) - 1
        return self.stood[first][0], self.stood[last][1]


def make_plain(original: str) -> NormalizedText:
    """Normalize a text word by word, up to the limit."""
    words: list[Placed] = []
    for found in _TOKEN.finditer(original[:LONGEST]):
        word, stood = _plain_word(found[0]), found.span()
        if found[0].lower() in _PART_PLURALS and (not words or words[-1][0] not in _BEFORE_PARTS):
            word = f"every {word}"
        if word == "m" and len(words) > 1 and words[-1][0] == "." and words[-2][0] in {"a", "p"}:
            half, (first, _) = words[-2]
            words[-2:] = [(f"{half}m", (first, stood[1]))]
            continue
        if word == "." and words and words[-1][0] in {"am", "pm"} and words[-1][1][1] == stood[0]:
            continue
        words.append((word, stood))
    _name_short_days(words)
    _unname_words(words, original)
    begins, length = [], 0
    for word, _ in words:
        begins.append(length)
        length += len(word) + 1
    text = " ".join(word for word, _ in words)
    return NormalizedText(original, text, tuple(begins), tuple(stood for _, stood in words))


def _name_short_days(words: list[Placed]) -> None:
    """``mo - fr`` and ``tuesday's at 4``: spellings that are days only in this context."""
    at = 0
    while at < len(words):
        word, stood = words[at]
        if word.endswith("'s") and _KNOWN.get(word[:-2]) in DAYS and _leads_to_time(words, at):
            words[at] = (_KNOWN[word[:-2]], stood)
        if [one for one, _ in words[at : at + 3]] == ["m", "-", "f"]:
            words[at], words[at + 2] = ("mon", stood), ("fri", words[at + 2][1])
        end = _end_of_short_days(words, at)
        for one in range(at, end + 1, 2):
            words[one] = (_short(words[one][0]), words[one][1])
        at = max(at, end) + 1


def _unname_words(words: list[Placed], original: str) -> None:
    """``the sun`` and ``she sat`` are not days; ``sun at 9`` and ``on sat`` are."""
    plain = [word for word, _ in words]
    for at, (word, (start, end)) in enumerate(words):
        if original[start:end].lower() in _WORDS_TOO and not _is_day(plain, at):
            words[at] = (f"{word}_", (start, end))


def _is_day(plain: Sequence[str], at: int) -> bool:
    before = plain[at - 1] if at else ""
    after = plain[at + 1] if at + 1 < len(plain) else ""
    listed = (at > 1 and before in _JOINS and plain[at - 2] in DAYS) or (
        at + 2 < len(plain) and after in _JOINS and plain[at + 2] in DAYS
    )
    if listed or before in _BEFORE_DAYS:
        return True
    return before not in _ARTICLES and (after in _AFTER_DAYS or after.isdigit() or before.isdigit())


def _end_of_short_days(words: list[Placed], at: int) -> int:
    """Return the end of a list of abbreviated days that starts here, or the start if there is
    none."""
    is_ending = words[at][0] == "th" and at > 0 and words[at - 1][0].isdigit()
    if not _short(words[at][0]) or is_ending:
        return at - 1
    end = at
    last = min(len(words), at + _MOST_SHORT)
    while end + 2 < last and words[end + 1][0] in _JOINS and _short(words[end + 2][0]):
        end += 2
    run = {words[one][0] for one in range(at, end + 1, 2)}
    # On its own, "we" is not Wednesday, and no single abbreviation is a day.
    return end if end > at and run & _TWO_LETTERS.keys() - {"we"} else at - 1


def _short(word: str) -> str:
    return _TWO_LETTERS.get(word, "") or (word if word in DAYS else "")


def _leads_to_time(words: list[Placed], at: int) -> bool:
    after = words[at + 1][0] if at + 1 < len(words) else ""
    return after in {"at", "@"} or after.isdigit()


def _plain_word(word: str) -> str:
    if word in "–—‐‑−":
        return "-"
    low = word.lower().replace("’", "'")
    low = _slip_table().get(low, low) if low.isalpha() else low
    return _KNOWN.get(low, low)
