"""Tries a filter on sample payloads and reports which conditions do not hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.filters import compile_filter, filter_cost_error, filter_findings
from mainspring.definition.strict_json import join_pointer

Predicate = Callable[[Mapping[str, Any]], bool]

# The work limit for all payloads of one trial together.
MOST_SECONDS: Final = 2.0


def find_unmet_conditions(
    written: Mapping[str, Any], payloads: Sequence[Mapping[str, Any]], limits: Limits, at: str = ""
) -> list[list[str]]:
    """For each payload, pointers to the conditions that do not hold; empty when it matches.

    ``Invalid`` if it is not a filter, or one that takes too long. Call it in a thread: it may take
    seconds.
    """
    deadline = time.monotonic() + MOST_SECONDS
    findings = filter_findings(written, limits, at)
    if findings:
        raise Invalid("The filter is invalid.", code="filter_invalid", findings=findings)
    whole = compile_filter(written, limits)
    parts = [(pointer, compile_filter(part, limits)) for pointer, part in _parts(written, at)]

    def holds(predicate: Predicate, payload: Mapping[str, Any]) -> bool:
        if time.monotonic() > deadline:
            raise _too_long(at)
        try:
            return predicate(payload)
        except Invalid as problem:
            if problem.code == "filter_too_costly":
                raise filter_cost_error(at) from None
            raise _within(problem, at) from None

    return [
        []
        if holds(whole, payload)
        else [pointer for pointer, part in parts if not holds(part, payload)]
        for payload in payloads
    ]


def _within(problem: Invalid, at: str) -> Invalid:
    """The same problem, with its pointers relative to the request."""
    found = [replace(one, pointer=at + one.pointer) for one in problem.findings]
    return Invalid(problem.detail, code=problem.code, findings=found, suggestion=problem.suggestion)


def _too_long(at: str) -> Invalid:
    detail = "Testing the filter on all these payloads takes too long."
    return Invalid(
        detail,
        code="filter_too_costly",
        findings=[Finding(at, detail, "filter_too_costly")],
        suggestion="Test it on fewer events, or use fewer operators that search in text.",
    )


def _parts(written: Mapping[str, Any], at: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every condition that must hold, as a filter of its own."""
    for key, value in written.items():
        if key == "$and":
            for number, member in enumerate(value):
                yield from _parts(member, join_pointer(at, key, number))
        elif not key.startswith("$") and isinstance(value, Mapping):
            for name, operand in value.items():
                yield join_pointer(at, key, name), {key: {name: operand}}
        else:
            yield join_pointer(at, key), {key: value}
