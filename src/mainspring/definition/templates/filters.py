"""The fifteen template filters. Adding one requires a security review.

A filter takes a value and arguments, and charges for its work before doing it. No filter calls
anything that it receives as a value.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

from mainspring.definition.templates.operators import is_comparable, search_cost
from mainspring.definition.templates.values import (
    MISSING,
    RenderMeter,
    check_kinds,
    describe_kind,
    find,
    invalid_operation_error,
    is_number,
    to_json,
    to_text,
    undefined_value_error,
)

# The date filter: formats ISO 8601 text, or seconds since 1970.

DEFAULT_FORMAT = "%Y-%m-%d"
DIRECTIVES = "YymdHIMSfpAaBbjUWwuGVZz"
_MAX_FORMAT = 200
_MAX_MOMENT = 64
# datetime ends with the year 9999.
_LAST_SECOND = 253_402_300_799
_DIRECTIVE = re.compile(r"%(-?)(.?)", re.DOTALL)


def check_format(pattern: Any) -> None:
    """Reject an invalid format when the template is parsed, before there is a date."""
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
                f"The date format does not support {found[0]!r}.",
                "Use %Y-%m-%d, %H:%M, %B, %A and the like; %-d leaves out a leading zero.",
            )


def format_date(value: Any, pattern: Any) -> str:
    check_format(pattern)
    timestamp = read_moment(value)
    return _DIRECTIVE.sub(lambda found: _format_directive(timestamp, found), pattern)


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
            "This number of seconds is not a time between the years 1 and 9999."
        )
    return datetime.fromtimestamp(value, UTC)


def _format_directive(timestamp: datetime, found: re.Match[str]) -> str:
    dash, letter = found.groups()
    if letter == "%":
        return "%"
    # Platforms disagree about leading zeros in years below 1000.
    made = f"{timestamp.year:04d}" if letter == "Y" else timestamp.strftime("%" + letter)
    return made.lstrip("0") or "0" if dash else made


REQUIRED: Final = object()
MAX_INDENT = 8
# The maximum length of one character after a change of case.
_WIDEST_CASE = 3
_NOT_WORD = re.compile(r"[^a-z0-9]+")
_DASHES = re.compile(r"-+")
# Letters that Unicode does not decompose.
_LATIN = str.maketrans(
    {
        "ß": "ss",
        "æ": "ae",
        "œ": "oe",
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "ı": "i",
    }
)


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter with its parameters and their defaults, in order."""

    run: Callable[..., Any]
    parameters: tuple[tuple[str, Any], ...] = ()
    # Checks a constant argument when the template is parsed.
    check: Mapping[str, Callable[[Any], None]] | None = None


def _length(meter: RenderMeter, value: Any) -> int:
    del meter
    if type(value) in (str, list, tuple, dict):
        return len(value)
    raise invalid_operation_error(
        f"length needs text, a list or an object, not {describe_kind(value)}."
    )


def _join(meter: RenderMeter, value: Any, separator: Any, attribute: Any) -> str:
    between = to_text(separator, meter)
    if type(value) is str and attribute is None:
        meter.spend(len(value) >> 3)
        meter.allocate(len(value) * (1 + len(between)))
        return between.join(value)
    texts = [to_text(item, meter) for item in _items("join", value, attribute, meter)]
    meter.allocate(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


def _items(name: str, value: Any, attribute: Any, meter: RenderMeter) -> list[Any]:
    """The items of a list, or one attribute of each."""
    if type(value) is dict:
        value = list(value)
    if type(value) not in (list, tuple):
        raise invalid_operation_error(f"{name} needs a list, not {describe_kind(value)}.")
    meter.spend(4 + 2 * len(value))
    meter.allocate(2 * len(value))
    if attribute is None:
        return list(value)
    path = _path(name, attribute)
    meter.spend(2 * len(value) * len(path))
    return [_entry(item, path, str(attribute), meter) for item in value]


def _path(name: str, attribute: Any) -> Sequence[str | int]:
    if type(attribute) is int:
        return (attribute,)
    if type(attribute) is not str or len(attribute) > 200:
        raise invalid_operation_error(
            f"The attribute of {name} must be a short text, not {describe_kind(attribute)}."
        )
    return [int(part) if part.isdecimal() else part for part in attribute.split(".")]


def _entry(item: Any, path: Sequence[str | int], shown: str, meter: RenderMeter) -> Any:
    for key in path:
        found = find(item, key, meter)
        if found is MISSING:
            raise undefined_value_error(shown, item, key)
        item = found
    return item


def _upper(meter: RenderMeter, value: Any) -> str:
    return _charge_case_change(to_text(value, meter), meter).upper()


def _lower(meter: RenderMeter, value: Any) -> str:
    return _charge_case_change(to_text(value, meter), meter).lower()


def _charge_case_change(text: str, meter: RenderMeter) -> str:
    if text.isascii():
        meter.spend(len(text) >> 7)
        meter.allocate(len(text))
    else:
        meter.spend(len(text) >> 1)
        meter.allocate(len(text) * _WIDEST_CASE)
    return text


def _trim(meter: RenderMeter, value: Any, characters: Any) -> str:
    text = to_text(value, meter)
    if characters is None:
        meter.spend(len(text) >> 6)
        return text.strip()
    stripped = to_text(characters, meter)
    meter.spend((len(text) >> 6) + (len(text) * len(stripped) >> 8))
    return text.strip(stripped)


def _truncate(meter: RenderMeter, value: Any, length: Any, end: Any, killwords: Any) -> str:
    text = to_text(value, meter)
    # Jinja's own second parameter is killwords.
    if type(end) is bool:
        end, killwords = "…", end
    tail = to_text(end, meter)
    if type(length) is not int or length < len(tail):
        raise invalid_operation_error(f"truncate needs a whole number of at least {len(tail)}.")
    if len(text) <= length:
        return text
    kept = text[: length - len(tail)]
    if not killwords and not text[len(kept)].isspace():
        kept = kept.rsplit(" ", 1)[0]
    meter.allocate(len(kept) + len(tail))
    return kept.rstrip() + tail


def _tojson(meter: RenderMeter, value: Any, indent: Any) -> str:
    if indent is not None and not (type(indent) is int and 0 <= indent <= MAX_INDENT):
        raise invalid_operation_error(
            f"The indent of tojson is a whole number from 0 to {MAX_INDENT}."
        )
    return to_json(value, meter, indent)


def _date(meter: RenderMeter, value: Any, pattern: Any) -> str:
    meter.spend(20 + 10 * len(pattern) if type(pattern) is str else 1)
    return format_date(value, pattern)


def _replace(meter: RenderMeter, value: Any, old: Any, new: Any, count: Any) -> str:
    text, piece, other = to_text(value, meter), to_text(old, meter), to_text(new, meter)
    if count is not None and type(count) is not int:
        raise invalid_operation_error(
            f"The count of replace is a whole number, not {describe_kind(count)}."
        )
    meter.spend(2 * search_cost(text, piece))
    times = text.count(piece)
    if count is not None and count >= 0:
        times = min(times, count)
    meter.allocate(len(text) + times * max(len(other) - len(piece), 0))
    meter.spend(times >> 2)
    return text.replace(piece, other, times)


def _slugify(meter: RenderMeter, value: Any) -> str:
    """Letters and digits of any script, in lower case, with single dashes between them."""
    text = to_text(value, meter)
    if text.isascii():
        meter.spend(len(text) >> 2)
        meter.allocate(len(text))
        return _NOT_WORD.sub("-", text.lower()).strip("-")
    meter.spend(10 * len(text))
    # A single character may expand to a short word.
    meter.allocate(len(text) * 4)
    # Decompose character by character: normalising a long run of accents is quadratic.
    bare = "".join([_bare(letter) for letter in text])
    meter.allocate(len(bare))
    return _DASHES.sub("-", bare.casefold().translate(_LATIN)).strip("-")


def _bare(letter: str) -> str:
    """A letter without its accents, or a dash for anything that is not a letter."""
    if letter.isascii():
        return letter if letter.isalnum() else "-"
    if "\u0300" <= letter <= "\u036f":
        return ""
    parts = unicodedata.normalize("NFKD", letter)
    if parts[0] < "\u0250":
        kept = [part for part in parts if not unicodedata.combining(part)]
        return "".join(part if part.isalnum() else "-" for part in kept)
    # Vowel signs of many scripts are marks, and part of the word.
    is_word = letter.isalnum() or unicodedata.category(letter)[0] == "M"
    return letter if is_word else "-"


def _first(meter: RenderMeter, value: Any) -> Any:
    return _end("first", value, 0, meter)


def _last(meter: RenderMeter, value: Any) -> Any:
    return _end("last", value, -1, meter)


def _end(name: str, value: Any, index: int, meter: RenderMeter) -> Any:
    if type(value) is dict:
        meter.spend(len(value) >> 3)
        value = list(value)
    if type(value) not in (str, list, tuple):
        raise invalid_operation_error(f"{name} needs a list or text, not {describe_kind(value)}.")
    return find(value, index, meter)


def _sort(
    meter: RenderMeter, value: Any, attribute: Any, reverse: Any, case_sensitive: Any
) -> list[Any]:
    # Jinja's own first parameter is reverse.
    if type(attribute) is bool:
        attribute, reverse = None, attribute
    items = _items("sort", value, None, meter)
    meter.spend(len(items))
    keys = items if attribute is None else _items("sort", value, attribute, meter)
    _check_order(keys)
    if keys and type(keys[0]) is str:
        keys = _text_keys(keys, bool(case_sensitive), meter)
    meter.spend(10 + len(keys) * max(1, int(math.log2(len(keys) or 1))))
    try:
        order = sorted(range(len(keys)), key=keys.__getitem__, reverse=bool(reverse))
    except TypeError:
        raise invalid_operation_error(
            "Moments with a time zone have no order with ones without."
        ) from None
    return [items[place] for place in order]


def _check_order(keys: list[Any]) -> None:
    check_kinds(keys)
    for key in keys:
        if not is_comparable(keys[0], key):
            raise invalid_operation_error(
                f"sort cannot order {describe_kind(keys[0])} and {describe_kind(key)}.",
                "Sort numbers or texts, or name an attribute that holds them.",
            )


def _text_keys(keys: list[str], exact: bool, meter: RenderMeter) -> list[str]:
    """Sort case-insensitively unless requested otherwise."""
    total = sum(map(len, keys))
    meter.spend(total * max(1, int(math.log2(len(keys)))) >> 7)
    if exact:
        return keys
    meter.spend(len(keys) + (total >> 2))
    meter.allocate(total * 2)
    return [key.lower() for key in keys]


def _reverse(meter: RenderMeter, value: Any) -> Any:
    if type(value) is str:
        meter.spend(len(value) >> 6)
        meter.allocate(len(value))
        return value[::-1]
    return _items("reverse", value, None, meter)[::-1]


def _default(meter: RenderMeter, value: Any, fallback: Any, boolean: Any) -> Any:
    del meter
    return fallback if value is MISSING or (boolean and not value) else value


FILTERS: Mapping[str, Filter] = {
    "join": Filter(_join, (("d", ""), ("attribute", None))),
    "length": Filter(_length),
    "default": Filter(_default, (("default_value", ""), ("boolean", False))),
    "upper": Filter(_upper),
    "lower": Filter(_lower),
    "truncate": Filter(_truncate, (("length", 255), ("end", "…"), ("killwords", False))),
    "tojson": Filter(_tojson, (("indent", None),)),
    "date": Filter(_date, (("format", DEFAULT_FORMAT),), check={"format": check_format}),
    "replace": Filter(_replace, (("old", REQUIRED), ("new", REQUIRED), ("count", None))),
    "trim": Filter(_trim, (("chars", None),)),
    "slugify": Filter(_slugify),
    "first": Filter(_first),
    "last": Filter(_last),
    "sort": Filter(_sort, (("attribute", None), ("reverse", False), ("case_sensitive", False))),
    "reverse": Filter(_reverse),
}
