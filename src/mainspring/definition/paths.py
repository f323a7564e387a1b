"""JSONPath (RFC 9535): picks values out of a payload.

The text is read and type-checked by a library that follows the standard to the letter;
walking is done here, because a path of a dozen characters such as ``$..*..*..*`` can
ask for more than a machine can give. Every step is counted and the walk ends with a
clear problem when the count runs out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from jsonpath_rfc9535 import JSONPathEnvironment, JSONPathError

from mainspring.contracts.errors import Finding
from mainspring.contracts.limits import Limits
from mainspring.definition.json_values import invalid_value_error
from mainspring.definition.path_walk import (
    PathCostExceeded,
    PathMeter,
    PathWalk,
    UnsupportedPath,
    compile_query,
)
from mainspring.definition.patterns import UnmatchableText

LONGEST = 1_000
MOST_STEPS = 200_000


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path that was read and can be followed."""

    text: str
    # Leads to one place at most, by names and positions only.
    singular: bool
    _walk: PathWalk = field(repr=False, compare=False)

    def find(self, value: Any, meter: PathMeter | None = None) -> list[Any]:
        """Every value the path leads to, in the order of the document.

        Paths that share a meter share its steps.
        """
        root = dict(value) if isinstance(value, Mapping) and type(value) is not dict else value
        try:
            return self._walk(root, root, PathMeter(MOST_STEPS) if meter is None else meter)
        except PathCostExceeded:
            raise invalid_value_error(
                Finding(
                    "",
                    "This path looks at too many places of the value it was given.",
                    "path_too_costly",
                )
            ) from None
        except UnmatchableText as unread:
            detail = f"This path has no answer for the value it was given. {unread}"
            raise invalid_value_error(Finding("", detail, "path_text_unread")) from None

    def first(self, value: Any, default: Any = None) -> Any:
        """The first value the path leads to; the default if there is none."""
        return next(iter(self.find(value)), default)


@lru_cache(maxsize=512)
def parse_path(text: str, limits: Limits) -> JsonPath:
    """A JSONPath, or ``Invalid`` with the place and the reason."""
    if len(text) > LONGEST:
        raise invalid_value_error(
            Finding("", f"A path has at most {LONGEST:,} characters.", "path_long")
        )
    if not text.startswith("$"):
        hint = f"Write $.{text[:40]}" if text[:1].isalpha() else None
        raise invalid_value_error(Finding("", "A JSONPath begins with $.", "path_syntax", hint))
    try:
        query = JSONPathEnvironment().compile(text)
    except JSONPathError as error:
        raise invalid_value_error(Finding("", _describe_path_error(error), "path_syntax")) from None
    except (ArithmeticError, LookupError, RecursionError, ValueError):
        # Deep brackets and enormous numbers end the reader itself, not the text.
        finding = Finding("", "This JSONPath cannot be read.", "path_syntax")
        raise invalid_value_error(finding) from None
    try:
        return JsonPath(text, query.singular_query(), compile_query(query, limits))
    except UnsupportedPath as unusable:
        raise invalid_value_error(Finding("", str(unusable), "path_unusable")) from None


def _describe_path_error(error: JSONPathError) -> str:
    reason = str(error.args[0]) if error.args else "unknown reason"
    place = "" if error.token is None else f" at character {error.token.index + 1}"
    return f"This JSONPath cannot be read{place}: {reason}."
