"""The operators of a filter: their operands and tests.

To add one, write its test here and list it in ``OPERATORS``; schema, checks, evaluation and aliases
follow from the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from mainspring.contracts.limits import Limits
from mainspring.definition.patterns import compile_pattern
from mainspring.definition.strict_json import is_same_value

# Field paths: ``a.b.0.c`` leads through objects and lists to one value.

MOST_PARTS = 64


class MissingField:
    """The result of a path that does not exist; JSON's null is a different value."""

    __slots__ = ()


MISSING: Final = MissingField()


class InvalidFieldPath(ValueError):
    """The path is invalid; the message is meant for its author."""


def parse_field_path(path: str) -> tuple[str, ...]:
    """The parts of a path; raises ``InvalidFieldPath`` with the reason."""
    parts: list[str] = []
    part: list[str] = []
    characters = iter(path)
    for character in characters:
        if character == "\\":
            following = next(characters, None)
            if following is None:
                raise InvalidFieldPath("A path cannot end with a backslash.")
            part.append(following)
        elif character == ".":
            parts.append("".join(part))
            part = []
        else:
            part.append(character)
    parts.append("".join(part))
    if "" in parts:
        raise InvalidFieldPath("A path has a name before and after each dot.")
    if len(parts) > MOST_PARTS:
        raise InvalidFieldPath(f"A path has at most {MOST_PARTS} parts.")
    return tuple(parts)


def read(payload: Mapping[str, Any], parts: tuple[str, ...]) -> Any:
    """The value of a path in a payload."""
    value: Any = payload
    for part in parts:
        value = step_into(value, part)
        if value is MISSING:
            break
    return value


def step_into(value: Any, part: str) -> Any:
    """One step of a path, into an object by key or into a list by position."""
    if isinstance(value, Mapping):
        return value.get(part, MISSING)
    if isinstance(value, list) and part.isdecimal() and part.isascii():
        position = int(part) if len(part) < 10 else len(value)
        return value[position] if position < len(value) else MISSING
    return MISSING


OperatorTest = Callable[[Any], bool]
# Work in the units of ``patterns.MOST_WORK``.
OperatorCost = Callable[[Any], int]

MOST_CHOICES = 1_000
# Substring search is fast; every item of a list is compared separately.
_CHARACTERS_A_UNIT, _UNITS_AN_ITEM = 8, 16


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator: the schema and description of its operand, and its test."""

    name: str
    takes: str
    operand: Mapping[str, Any]
    accepts: OperatorTest
    test: Callable[[Any, Limits], OperatorTest]
    aliases: tuple[str, ...] = ()
    # Cheap conditions are evaluated first; the result is the same in any order.
    cost: int = 1
    # The cost of the test on a value, for tests whose work grows with the value.
    price: Callable[[Any, Limits], OperatorCost] | None = None


# By exact type, because bool is a subclass of int.
NUMBERS = frozenset({int, float})


def is_number(value: Any) -> bool:
    return type(value) in NUMBERS


def _equals(wanted: Any, limits: Limits) -> OperatorTest:
    del limits
    if isinstance(wanted, str):
        return lambda value: value == wanted
    if wanted is None or isinstance(wanted, bool):
        return lambda value: value is wanted
    return lambda value: is_same_value(value, wanted)


def _not_equals(wanted: Any, limits: Limits) -> OperatorTest:
    equal = _equals(wanted, limits)
    return lambda value: value is not MISSING and not equal(value)


def _among(choices: list[Any]) -> OperatorTest:
    texts = {choice for choice in choices if isinstance(choice, str)}
    others = [choice for choice in choices if not isinstance(choice, str)]

    def among(value: Any) -> bool:
        if isinstance(value, str):
            return value in texts
        return any(is_same_value(value, other) for other in others)

    return among


def _in(choices: list[Any], limits: Limits) -> OperatorTest:
    del limits
    return _among(choices)


def _build_not_in_test(choices: list[Any], limits: Limits) -> OperatorTest:
    del limits
    among = _among(choices)
    return lambda value: value is not MISSING and not among(value)


def _starts_with(start: str, limits: Limits) -> OperatorTest:
    del limits
    return lambda value: isinstance(value, str) and value.startswith(start)


def _ends_with(end: str, limits: Limits) -> OperatorTest:
    del limits
    return lambda value: isinstance(value, str) and value.endswith(end)


def _contains(part: Any, limits: Limits) -> OperatorTest:
    del limits

    def contains(value: Any) -> bool:
        if isinstance(value, str):
            return isinstance(part, str) and part in value
        return isinstance(value, list) and any(is_same_value(item, part) for item in value)

    return contains


def _regex(source: str, limits: Limits) -> OperatorTest:
    pattern = compile_pattern(source, limits)
    return lambda value: isinstance(value, str) and pattern.found_in(value)


def _contains_price(part: Any, limits: Limits) -> OperatorCost:
    del part, limits

    def price(value: Any) -> int:
        if isinstance(value, str):
            return len(value) // _CHARACTERS_A_UNIT
        return len(value) * _UNITS_AN_ITEM if isinstance(value, list) else 0

    return price


def _regex_price(source: str, limits: Limits) -> OperatorCost:
    pattern = compile_pattern(source, limits)

    def price(value: Any) -> int:
        if not isinstance(value, str):
            return 0
        size = len(value) if value.isascii() else len(value.encode("utf-8", "replace"))
        # A longer text is not searched: the test raises.
        return size * pattern.size if size <= pattern.longest else 0

    return price


def _gt(bound: float, limits: Limits) -> OperatorTest:
    del limits
    return lambda value: type(value) in NUMBERS and value > bound


def _gte(bound: float, limits: Limits) -> OperatorTest:
    del limits
    return lambda value: type(value) in NUMBERS and value >= bound


def _lt(bound: float, limits: Limits) -> OperatorTest:
    del limits
    return lambda value: type(value) in NUMBERS and value < bound


def _lte(bound: float, limits: Limits) -> OperatorTest:
    del limits
    return lambda value: type(value) in NUMBERS and value <= bound


def _exists(wanted: bool, limits: Limits) -> OperatorTest:
    del limits
    return lambda value: (value is not MISSING) is wanted


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _is_choices(value: Any) -> bool:
    return isinstance(value, list) and 0 < len(value) <= MOST_CHOICES


def _anything(value: Any) -> bool:
    del value
    return True


_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_SCALAR = {"type": ["string", "number", "boolean", "null"]}
_CHOICES = {"type": "array", "minItems": 1, "maxItems": MOST_CHOICES}
_SOME = f"a list of 1 to {MOST_CHOICES:,} values"

OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {
        operator.name: operator
        for operator in (
            Operator("equals", "a value", {}, _anything, _equals, ("$eq", "$equals"), 0),
            Operator("not_equals", "a value", {}, _anything, _not_equals, ("$ne", "$not_equals")),
            Operator("starts_with", "text", _TEXT, _is_text, _starts_with, ("$starts_with",)),
            Operator("ends_with", "text", _TEXT, _is_text, _ends_with, ("$ends_with",)),
            Operator(
                "contains",
                "text, a number, true, false or null",
                _SCALAR,
                is_scalar,
                _contains,
                ("$contains",),
                2,
                _contains_price,
            ),
            Operator("regex", "a pattern", _TEXT, _is_text, _regex, ("$regex",), 3, _regex_price),
            Operator("gt", "a number", _NUMBER, is_number, _gt, ("$gt",)),
            Operator("gte", "a number", _NUMBER, is_number, _gte, ("$gte",)),
            Operator("lt", "a number", _NUMBER, is_number, _lt, ("$lt",)),
            Operator("lte", "a number", _NUMBER, is_number, _lte, ("$lte",)),
            Operator("in", _SOME, _CHOICES, _is_choices, _in, ("$in",)),
            Operator(
                "not_in", _SOME, _CHOICES, _is_choices, _build_not_in_test, ("$nin", "$not_in")
            ),
            Operator(
                "exists", "true or false", {"type": "boolean"}, _is_flag, _exists, ("$exists",)
            ),
        )
    }
)
