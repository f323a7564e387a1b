"""The date filter: ISO 8601 text, or seconds since 1970, written out by a format.

Each directive is written on its own and only known ones pass, so that the platform's
own extensions and the text between the directives never reach the C library.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any

from mainspring.definition.templates.values import describe_kind, invalid_operation_error, is_number

DEFAULT_FORMAT = "%Y-%m-%d"
DIRECTIVES = "YymdHIMSfpAaBbjUWwuGVZz"
_MAX_FORMAT = 200
_MAX_MOMENT = 64
# The year 9999 is the last that a moment can hold.
_LAST_SECOND = 253_402_300_799
_DIRECTIVE = re.compile(r"%(-?)(.?)", re.DOTALL)


def check_format(pattern: Any) -> None:
    """Refuses a format that could not be written out, before there is a moment."""
    if type(pattern) is not str:
        raise invalid_operation_error(
            f"The format of a date must be text, not {describe_kind(pattern)}."
        )
    if len(pattern) > _MAX_FORMAT:
        raise invalid_operation_error(
            f"The format of a date has more than {_MAX_FORMAT} characters."
        )
    for found in _DIRECTIVE.finditer(pattern):
        dash, letter = found.groups()
        if not letter or letter not in (DIRECTIVES if dash else DIRECTIVES + "%"):
            raise invalid_operation_error(
                f"The date format does not know {found[0]!r}.",
                "Use %Y-%m-%d, %H:%M, %B, %A and the like; %-d leaves out a leading zero.",
            )


def format_date(value: Any, pattern: Any) -> str:
    check_format(pattern)
    moment = read_moment(value)
    return _DIRECTIVE.sub(lambda found: _format_directive(moment, found), pattern)


def read_moment(value: Any) -> datetime:
    kind = type(value)
    if kind is datetime:
        return value  # type: ignore[no-any-return]
    if kind is date:
        return datetime(value.year, value.month, value.day)  # noqa: DTZ001
    if is_number(value):
        return _from_seconds(value)
    if kind is str and len(value) <= _MAX_MOMENT:
        try:
            return datetime.fromisoformat(value.strip())
        except ValueError:
            pass
    elif kind is not str:
        raise invalid_operation_error(
            f"The date filter needs a date as text, not {describe_kind(value)}."
        )
    raise invalid_operation_error(
        "The date filter needs a date in ISO 8601, like 2026-05-26T08:00:00Z."
    )


def _from_seconds(value: int | float) -> datetime:
    if not -_LAST_SECOND // 4 <= value <= _LAST_SECOND:
        raise invalid_operation_error(
            "This number of seconds is not a moment between the years 1 and 9999."
        )
    return datetime.fromtimestamp(value, UTC)


def _format_directive(moment: datetime, found: re.Match[str]) -> str:
    dash, letter = found.groups()
    if letter == "%":
        return "%"
    # Platforms disagree about the zeros before a year below 1000.
    made = f"{moment.year:04d}" if letter == "Y" else moment.strftime("%" + letter)
    return made.lstrip("0") or "0" if dash else made
