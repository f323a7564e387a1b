"""Event filters: a JSON condition on the payload of an event, evaluated in microseconds.

A filter names fields of the payload and what must hold for each: ``{"file.name": {"ends_with":
".pdf"}, "size": {"gt": 0}, "kind": "invoice"}``. All conditions must hold; ``$and``, ``$or`` and
``$not`` combine filters. The empty filter matches every event.

A missing path or a value of another type makes an operator false, never an error; the one operator
that holds for a missing path is ``exists: false``. ``$not`` is plain negation, so ``{"$not": {"a":
{"equals": 1}}}`` holds when ``a`` is missing and ``{"a": {"not_equals": 1}}`` does not. Numbers
compare with numbers whatever their spelling, ``true`` is not 1, and text compares with text only,
by code points.

The work of one filter on one payload is limited; beyond that the result is a problem with the code
``filter_too_costly``. A text that is too long for a pattern is a problem with the code
``filter_text_unread``.
"""

from __future__ import annotations

from mainspring.definition.filters.evaluate import compile_filter, filter_cost_error
from mainspring.definition.filters.index import FilterIndex
from mainspring.definition.filters.validation import (
    ANTI_EXAMPLES,
    EXAMPLES,
    FILTER_SCHEMA,
    filter_doubts,
    filter_findings,
    normalise,
)

__all__ = [
    "ANTI_EXAMPLES",
    "EXAMPLES",
    "FILTER_SCHEMA",
    "FilterIndex",
    "compile_filter",
    "filter_cost_error",
    "filter_doubts",
    "filter_findings",
    "normalise",
]
