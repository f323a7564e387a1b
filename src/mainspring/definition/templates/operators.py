"""Arithmetic, concatenation and comparison, with limits checked before each computation.

Types do not mix: adding a number to text is an error, because a clear message helps more than a
guess. Numbers stay within 2,048 bits and are never infinite.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

from mainspring.definition.templates.parser import MAX_INTEGER_BITS as _MOST_BITS
from mainspring.definition.templates.values import (
    RenderMeter,
    check_kinds,
    check_number,
    describe_kind,
    invalid_operation_error,
    is_number,
    to_text,
    weigh,
)

BinaryOperation = Callable[[Any, Any, RenderMeter], Any]

# Below this length CPython may search naively, in the product of both lengths.
_NAIVE_HAYSTACK = 30_000
_NAIVE_NEEDLE = 100


def add(left: Any, right: Any, meter: RenderMeter) -> Any:
    if is_number(left) and is_number(right):
        return _compute_number(operator.add, left, right)
    if type(left) is str and type(right) is str:
        meter.allocate(len(left) + len(right))
        return left + right
    if _is_list(left) and _is_list(right):
        _new_list(len(left) + len(right), meter)
        return [*left, *right]
    raise invalid_operation_error(
        f"'+' cannot add {describe_kind(left)} and {describe_kind(right)}.",
        "Use '~' to join values as text.",
    )


def multiply(left: Any, right: Any, meter: RenderMeter) -> Any:
    if is_number(left) and is_number(right):
        return _compute_number(operator.mul, left, right)
    if type(left) is int:
        left, right = right, left
    if type(right) is int and (type(left) is str or _is_list(left)):
        size = len(left) * max(right, 0)
        if type(left) is str:
            meter.allocate(size)
            return left * right
        _new_list(size, meter)
        return list(left) * right
    raise invalid_operation_error(
        f"'*' cannot multiply {describe_kind(left)} by {describe_kind(right)}."
    )


def power(left: Any, right: Any, meter: RenderMeter) -> Any:
    _numbers("**", left, right)
    meter.spend(8)
    # The minimum number of bits of the result is known before it is computed.
    if type(left) is int and type(right) is int and (left.bit_length() - 1) * right > _MOST_BITS:
        raise invalid_operation_error("The result of '**' is too large.")
    return _compute_number(operator.pow, left, right)


def modulo(left: Any, right: Any, meter: RenderMeter) -> Any:
    del meter
    if type(left) is str:
        raise invalid_operation_error(
            "'%' does not format text.", "Use '~' to join values as text."
        )
    _numbers("%", left, right)
    return _compute_number(operator.mod, left, right)


def _plain(sign: str, compute: Callable[[Any, Any], Any]) -> BinaryOperation:
    def run(left: Any, right: Any, meter: RenderMeter) -> Any:
        del meter
        _numbers(sign, left, right)
        return _compute_number(compute, left, right)

    return run


ARITHMETIC: Mapping[str, BinaryOperation] = {
    "+": add,
    "-": _plain("-", operator.sub),
    "*": multiply,
    "/": _plain("/", operator.truediv),
    "//": _plain("//", operator.floordiv),
    "%": modulo,
    "**": power,
}


def negate(value: Any) -> Any:
    return -_number("-", value)


def affirm(value: Any) -> Any:
    return _number("+", value)


def _number(sign: str, value: Any) -> Any:
    if not is_number(value):
        raise invalid_operation_error(
            f"'{sign}' needs a number, and this is {describe_kind(value)}."
        )
    check_number(value)
    return value


def _numbers(sign: str, left: Any, right: Any) -> None:
    if not (is_number(left) and is_number(right)):
        raise invalid_operation_error(
            f"'{sign}' needs two numbers, not {describe_kind(left)} and {describe_kind(right)}."
        )


def _compute_number(compute: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    check_number(left)
    check_number(right)
    try:
        made = compute(left, right)
    except ZeroDivisionError:
        raise invalid_operation_error("A number is divided by zero.") from None
    except OverflowError:
        raise invalid_operation_error("The result of a calculation is too large.") from None
    if not is_number(made):
        raise invalid_operation_error("A negative number has no such power.")
    check_number(made)
    return made


def _is_list(value: Any) -> bool:
    return type(value) is list or type(value) is tuple


def _new_list(size: int, meter: RenderMeter) -> None:
    meter.allocate(2 * size)
    meter.spend(size >> 5)


def join_text(values: list[Any], meter: RenderMeter) -> str:
    """'~': concatenates the values as text."""
    meter.spend(2 * len(values))
    texts = [to_text(value, meter) for value in values]
    meter.allocate(sum(map(len, texts)))
    return "".join(texts)


def equal(left: Any, right: Any, meter: RenderMeter) -> bool:
    if describe_kind(left) != describe_kind(right):
        # true equals 1 in Jinja too; only numbers of different types may be equal.
        return bool(left == right) if _is_scalar(left) and _is_scalar(right) else False
    if type(left) is str:
        meter.spend(len(left) >> 10 if len(left) == len(right) else 0)
    elif not _is_scalar(left):
        if len(left) != len(right):
            return False
        meter.spend((weigh(left, meter) + weigh(right, meter)) >> 8)
        if type(left) is not type(right):
            left, right = list(left), list(right)
    return bool(left == right)


def _is_scalar(value: Any) -> bool:
    return type(value) not in (list, tuple, dict)


def not_equal(left: Any, right: Any, meter: RenderMeter) -> bool:
    return not equal(left, right, meter)


def is_comparable(left: Any, right: Any) -> bool:
    """Whether the two values can be ordered."""
    if is_number(left):
        return is_number(right)
    kind = type(left)
    return kind is type(right) and (kind is str or kind is datetime or kind is date)


def _build_comparison(sign: str, compare: Callable[[Any, Any], Any]) -> BinaryOperation:
    def run(left: Any, right: Any, meter: RenderMeter) -> bool:
        if not is_comparable(left, right):
            raise invalid_operation_error(
                f"'{sign}' cannot compare {describe_kind(left)} with {describe_kind(right)}.",
                "Only two numbers or two texts have an order.",
            )
        if type(left) is str:
            meter.spend(min(len(left), len(right)) >> 10)
        try:
            return bool(compare(left, right))
        except TypeError:
            raise invalid_operation_error(
                "A time with a time zone cannot be compared with one without."
            ) from None

    return run


def contains(item: Any, holder: Any, meter: RenderMeter) -> bool:
    """'in': an item of a list, a key of an object, or a substring."""
    kind = type(holder)
    if kind is str and type(item) is str:
        meter.spend(search_cost(holder, item))
        return item in holder
    if kind is dict and type(item) is str:
        meter.spend(len(item) >> 8)
        return item in holder
    if kind is dict:
        describe_kind(item)
        return False
    if kind is list or kind is tuple:
        return _among(item, holder, meter)
    raise invalid_operation_error(
        f"'in' cannot look for {describe_kind(item)} in {describe_kind(holder)}."
    )


def _among(item: Any, holder: Any, meter: RenderMeter) -> bool:
    describe_kind(item)
    if not _is_scalar(item):
        meter.spend(6 * len(holder))
        return any(equal(item, entry, meter) for entry in holder)
    width = len(item) if type(item) is str else 0
    meter.spend(1 + (len(holder) >> 1) + (len(holder) * width >> 10))
    check_kinds(holder)
    return item in holder


def not_contains(item: Any, holder: Any, meter: RenderMeter) -> bool:
    return not contains(item, holder, meter)


def search_cost(text: str, piece: str) -> int:
    """The maximum cost of a substring search, in steps."""
    if len(text) < _NAIVE_HAYSTACK:
        return 1 + (len(text) * min(len(piece), _NAIVE_NEEDLE) >> 8)
    return 1 + (len(text) >> 4)


COMPARISONS: Mapping[str, BinaryOperation] = {
    "eq": equal,
    "ne": not_equal,
    "lt": _build_comparison("<", operator.lt),
    "lteq": _build_comparison("<=", operator.le),
    "gt": _build_comparison(">", operator.gt),
    "gteq": _build_comparison(">=", operator.ge),
    "in": contains,
    "notin": not_contains,
}
