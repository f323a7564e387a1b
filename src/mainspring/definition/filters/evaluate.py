"""Compiles a filter to a function of the payload.

The function raises when it cannot decide: a text is too long for a pattern, or the filter needs
more work than its limit. Only conditions whose work grows with the value are metered, and only when
they are evaluated; a filter without any is never metered.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.filters.operators import (
    MISSING,
    OPERATORS,
    OperatorCost,
    OperatorTest,
    parse_field_path,
    read,
)
from mainspring.definition.filters.validation import ALL, ANY, NOT, SIMPLER, filter_findings
from mainspring.definition.patterns import MOST_WORK, UnmatchableText
from mainspring.definition.strict_json import join_pointer

FilterPredicate = Callable[[Mapping[str, Any]], bool]

GROUP_COST = 4
# All patterns of a filter together may do as much work as two of them.
MOST_FILTER_WORK = 2 * MOST_WORK


class FilterMeter(threading.local):
    """The remaining work of one evaluation; not shared between threads."""

    left = MOST_FILTER_WORK


def compile_filter(written: Mapping[str, Any], limits: Limits) -> FilterPredicate:
    """The filter as a function of the payload; ``Invalid`` if it is not a filter."""
    findings = filter_findings(written, limits)
    if findings:
        raise Invalid(
            "The filter cannot be used: " + findings[0].detail,
            code="filter_invalid",
            findings=findings,
        )
    meter = FilterMeter()
    predicate = _compile_all(written, limits, meter)
    return _add_meter(predicate, meter) if _has_price(written) else predicate


def filter_cost_error(at: str = "") -> Invalid:
    """The error for a filter that needs too much work."""
    detail = "Applying the filter to this payload takes more work than is allowed."
    return Invalid(
        detail,
        code="filter_too_costly",
        findings=[Finding(at, detail, "filter_too_costly")],
        suggestion="Use fewer or simpler patterns, or add an exact value.",
    )


def unmatchable_text_error(at: str, reason: str) -> Invalid:
    """The problem of a filter whose pattern cannot match an overlong text of the payload."""
    detail = f"The filter has no answer for this payload. {reason}"
    return Invalid(
        detail,
        code="filter_text_unread",
        findings=[Finding(at, detail, "filter_text_unread")],
        suggestion=SIMPLER,
    )


def _has_price(written: Mapping[str, Any]) -> bool:
    """Whether any condition of a filter must be metered."""
    for key, value in written.items():
        if key in {ALL, ANY}:
            if any(map(_has_price, value)):
                return True
        elif key == NOT:
            if _has_price(value):
                return True
        elif isinstance(value, Mapping) and any(OPERATORS[name].price for name in value):
            return True
    return False


def _add_meter(predicate: FilterPredicate, meter: FilterMeter) -> FilterPredicate:
    def metered(payload: Mapping[str, Any]) -> bool:
        meter.left = MOST_FILTER_WORK
        return predicate(payload)

    return metered


def _compile_all(written: Mapping[str, Any], limits: Limits, meter: FilterMeter) -> FilterPredicate:
    questions = sorted(_questions(written, limits, meter), key=lambda question: question[0])
    return _every([predicate for _, predicate in questions])


def _questions(
    written: Mapping[str, Any], limits: Limits, meter: FilterMeter
) -> Iterator[tuple[int, FilterPredicate]]:
    """The conditions of a filter, each with its cost, so that cheap ones are evaluated first."""
    for key, value in written.items():
        if key == ALL:
            yield GROUP_COST, _every([_compile_all(member, limits, meter) for member in value])
        elif key == ANY:
            yield GROUP_COST, _some([_compile_all(member, limits, meter) for member in value])
        elif key == NOT:
            yield GROUP_COST, _negation(_compile_all(value, limits, meter))
        else:
            yield from _field(key, value, limits, meter)


def _field(
    key: str, value: Any, limits: Limits, meter: FilterMeter
) -> Iterator[tuple[int, FilterPredicate]]:
    parts = parse_field_path(key)
    conditions = value if isinstance(value, Mapping) else {"equals": value}
    for name, operand in conditions.items():
        operator = OPERATORS[name]
        test = operator.test(operand, limits)
        if operator.price is not None:
            place = join_pointer("", key, name)
            test = _count_test(test, operator.price(operand, limits), meter, place)
        yield operator.cost, _question(parts, test)


def _count_test(
    test: OperatorTest, price: OperatorCost, meter: FilterMeter, place: str
) -> OperatorTest:
    def counted(value: Any) -> bool:
        meter.left -= price(value)
        if meter.left < 0:
            raise filter_cost_error()
        try:
            return test(value)
        except UnmatchableText as unread:
            raise unmatchable_text_error(place, str(unread)) from None

    return counted


def _question(parts: tuple[str, ...], test: OperatorTest) -> FilterPredicate:
    if len(parts) == 1:
        # Most fields are at the top level; there, one call less saves a third of the time.
        name = parts[0]
        return lambda payload: test(payload.get(name, MISSING))
    return lambda payload: test(read(payload, parts))


def _every(predicates: list[FilterPredicate]) -> FilterPredicate:
    if len(predicates) == 1:
        return predicates[0]

    def every(payload: Mapping[str, Any]) -> bool:
        for predicate in predicates:  # noqa: SIM110 - a generator costs more than asking
            if not predicate(payload):
                return False
        return True

    return every


def _some(predicates: list[FilterPredicate]) -> FilterPredicate:
    if len(predicates) == 1:
        return predicates[0]

    def some(payload: Mapping[str, Any]) -> bool:
        for predicate in predicates:  # noqa: SIM110 - a generator costs more than asking
            if predicate(payload):
                return True
        return False

    return some


def _negation(predicate: FilterPredicate) -> FilterPredicate:
    return lambda payload: not predicate(payload)
