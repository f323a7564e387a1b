"""Regex fragments for days, months and counts, shared by the rules, and their values.

Every pattern is anchored at a word and has bounded repetition, so that parsing is linear for any
input.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from mainspring.authoring.phrases.normalization import DAYS, MONTHS

DAY: Final = f"(?:{'|'.join(DAYS)})"
MONTH: Final = f"(?:{'|'.join(MONTHS)})"
SEP: Final = r" (?:, and|, or|and|&|,|or|plus|/|\+)(?: also)?(?: on)?(?: the)?(?: every)? "
ORD: Final = r"(?:(?:20|30) (?:- )?)?\d{1,2} ?(?:st|nd|rd|th)\b"
NTH: Final = rf"(?:{ORD}|second|last)"
OF_MONTH: Final = r"(?: (?:(?:of|in|on) )?(?:(?:the|every|a) )?(?:calendar )?month\b| monthly\b)"
OF_UNIT: Final = r"(?: (?:of|in) (?:(?:the|every|a) )?(month|quarter|year|week)\b)"
NUM: Final = r"(?:(?:20|30|40|50) (?:- )?[1-9](?!\d)|\d{1,5})"
PARTS: Final = "morning|afternoon|evening|night|noon|midnight"
UNITS: Final = "secs|minute|hour|day|week|fortnight|month|quarter|year"

# The kind of a phrase, its value, and whether it can only be a time expression.
Made = tuple[str, Any, bool] | None
Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], Made]]


def number(text: str) -> int:
    return sum(int(part) for part in re.findall(r"\d+", text))


def days_of(text: str) -> frozenset[int]:
    days: set[int] = set()
    for found in re.finditer(rf"({DAY})(?: (?:-|to) ({DAY}))?|weekdays|weekends", text):
        if found[0] == "weekdays":
            days |= {1, 2, 3, 4, 5}
        elif found[0] == "weekends":
            days |= {0, 6}
        else:
            first = DAYS.index(found[1])
            span = (DAYS.index(found[2]) - first) % 7 if found[2] else 0
            days |= {(first + step) % 7 for step in range(span + 1)}
    return frozenset(days)


def months_of(text: str) -> frozenset[int]:
    found = re.findall(MONTH, text)
    numbers = [MONTHS.index(one) + 1 for one in found]
    if re.search(rf"{MONTH} (?:-|to) {MONTH}", text):
        span = (numbers[1] - numbers[0]) % 12
        return frozenset((numbers[0] - 1 + step) % 12 + 1 for step in range(span + 1))
    return frozenset(numbers)
