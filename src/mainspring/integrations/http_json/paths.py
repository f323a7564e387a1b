"""Which parts of an answer become rows and columns: JSONPath, as RFC 9535 has it.

A short path can ask for more than a machine can give. So one that looks at everything below
more than once, that goes back to the root inside a filter, that names places over and over, or
that matches patterns is refused before it is followed; what is left costs no more than the
answer is large.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any, Final

from jsonpath_rfc9535 import JSONPathEnvironment, JSONPathError, JSONPathQuery

from mainspring.contracts.errors import Finding, Invalid, UpstreamError

LONGEST: Final = 300
_DOTTED: Final = re.compile(r"[^\s$@\[\]'\"?*()]+")
_BRACKETS: Final = re.compile(r"\[([^\[\]]*)\]")
_MOST_WAYS: Final = 100
_PATTERN: Final = re.compile(r"\b(?:match|search)\s*\(")


class NoValue:
    """There is nothing at the end of a path; null is something."""


NOTHING: Final = NoValue()


@lru_cache(maxsize=256)
def read_path(text: str, at: str) -> JSONPathQuery:
    """A path that can be followed, or ``Invalid`` at its place."""
    if not text.startswith("$"):
        raise _bad(at, "A JSONPath begins with $.", "As in $.data.items[*].")
    ways = prod(one.count(",") + 1 for one in _BRACKETS.findall(text))
    if text.count("..") > 1 or "$" in text[1:] or _PATTERN.search(text) or ways > _MOST_WAYS:
        raise _bad(
            at,
            "This path could look at too many places: it may have .. once, few commas, and no $ "
            "and no match() or search() behind its beginning.",
            "Name the places on the way.",
        )
    try:
        return JSONPathEnvironment().compile(text)
    except JSONPathError as error:
        raise _bad(at, f"This JSONPath cannot be read: {error}") from None
    except (ArithmeticError, LookupError, RecursionError, ValueError):
        raise _bad(at, "This JSONPath cannot be read.") from None


def find_values(text: str, at: str, value: Any) -> Iterator[Any]:
    """What a path leads to, in the order of the document."""
    try:
        for node in read_path(text, at).finditer(value):
            yield node.value
    except (JSONPathError, RecursionError):
        raise UpstreamError(
            "The answer is nested too deeply for this path.",
            code="unreadable_answer",
            retryable=False,
            suggestion="Name the places on the way instead of looking everywhere with two dots.",
        ) from None


def find_first_value(text: str, at: str, value: Any) -> Any:
    """The first value at the end of a JSONPath or of names with dots; ``NOTHING`` without one."""
    if text.startswith("$"):
        return next(find_values(text, at, value), NOTHING)
    for name in text.split("."):
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return NOTHING
    return value


def check_column(text: str, at: str) -> None:
    """Refuses what is neither a JSONPath nor names with dots."""
    if text.startswith("$"):
        read_path(text, at)
    elif not _DOTTED.fullmatch(text):
        raise _bad(at, "This is neither a JSONPath nor names with dots.", "As in user.login.")


def _bad(at: str, detail: str, suggestion: str | None = None) -> Invalid:
    return Invalid(detail, code="bad_path", findings=[Finding(at, detail, "bad_path", suggestion)])
