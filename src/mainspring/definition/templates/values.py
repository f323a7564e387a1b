"""The values that a template may contain, and access to their members.

Values are data: text, numbers, true, false, none, lists, objects and timestamps. Nothing here reads
an attribute of a Python object or calls a method that a value provides, because only exact built-in
types pass. Code that iterates a container must call ``weigh`` first, so a value that repeats itself
a million times through a few references is charged at its full size.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from difflib import get_close_matches
from typing import Any, Final, Protocol, TypeAlias

from jinja2 import nodes

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.secret import SecretRef
from mainspring.definition.templates.parser import MAX_INTEGER_BITS

# The state of one render, and the closures that work on it.
#
# A closure is one small Python function over the state. A strict one refuses what is not
# there; a soft one answers MISSING, and exists for the places where absence is allowed.


# What one render may use: steps, memory, and processor time behind both.

# One look at the clock costs as much as a few steps, so it is not taken at each of them.
STEPS_PER_LOOK = 2_000
# The sum of all values one render may build, in units of the largest single value.
VALUES_PER_RENDER = 6


class RenderMeter:
    """Counts down while a template runs; every refusal is an ``Invalid``."""

    __slots__ = ("_deadline", "_mark", "_memory", "_milliseconds", "fuel", "value_limit")

    def __init__(self, limits: Limits) -> None:
        self.fuel = limits.template_fuel
        self.value_limit = limits.template_value
        self._memory = limits.template_value * VALUES_PER_RENDER
        self._milliseconds = limits.template_milliseconds
        self._mark = max(self.fuel - STEPS_PER_LOOK, 0)
        self._deadline: float | None = None

    def spend(self, steps: int) -> None:
        """Charges work that is about to be done."""
        self.fuel -= steps
        if self.fuel < self._mark:
            self._look()

    def allocate(self, units: int) -> None:
        """Charges a value that is about to be built: a character is one unit."""
        if units > self.value_limit:
            raise Invalid(
                f"The template builds a value of more than {self.value_limit} characters.",
                code="template_too_large",
            )
        self._memory -= units
        if self._memory < 0:
            raise Invalid(
                "The template builds too much data in one render.", code="template_too_large"
            )

    def _look(self) -> None:
        if self.fuel < 0:
            raise Invalid(
                "The template needs more steps than one render may take.",
                code="template_too_much_work",
                suggestion="Loop over fewer items, or move the work into a separate step.",
            )
        now = time.thread_time()
        if self._deadline is None:
            self._deadline = now + self._milliseconds / 1000
        elif now > self._deadline:
            raise Invalid(
                f"The template took more than {self._milliseconds} ms.",
                code="template_too_much_work",
            )
        self._mark = max(self.fuel - STEPS_PER_LOOK, 0)


class RenderState:
    """Made for each render and thrown away after it, so templates can be shared."""

    __slots__ = ("frame", "line", "meter", "names", "out", "room")

    def __init__(self, names: Mapping[str, Any], meter: RenderMeter, room: int) -> None:
        self.names = names
        # What the template itself has named: for, set and with.
        self.frame: dict[str, Any] = {}
        self.meter = meter
        self.out: list[str | SecretRef] = []
        # Characters that may still be put out.
        self.room = room
        self.line = 1

    def emit(self, text: str) -> None:
        self.room -= len(text)
        if self.room < 0:
            raise Invalid("The template puts out too much text.", code="template_too_large")
        self.out.append(text)

    def text(self) -> str:
        """All that was put out, when no secret can be in it."""
        return "".join(map(str, self.out))


Expression: TypeAlias = Callable[[RenderState], Any]


class ExpressionCompilerProtocol(Protocol):
    """Turns expression nodes into closures."""

    @property
    def local(self) -> frozenset[str]:
        """The names that the template makes itself."""
        ...

    def strict(self, node: nodes.Node) -> Expression: ...

    def soft(self, node: nodes.Node) -> Expression: ...


def compile_constant(value: Any) -> Expression:
    return lambda state: value


MAX_DEPTH = 50
_KINDS: dict[type, str] = {
    str: "text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "none",
    list: "a list",
    tuple: "a list",
    dict: "an object",
    datetime: "a date and time",
    date: "a date",
}
_CONTAINERS = frozenset({list, tuple, dict})
_NOT_JSON = frozenset({tuple, datetime, date})
# Writing out a longer number takes quadratic time.
_PLAIN_BITS = 64
_FOREIGN = "There is a value of a kind that templates cannot use."


class _Undefined:
    """The undefined value; it never leaves the engine."""

    __slots__ = ()


MISSING: Final = _Undefined()


def describe_kind(value: Any) -> str:
    """The display name of a value's type; unknown types are rejected."""
    try:
        return _KINDS[type(value)]
    except KeyError:
        raise invalid_operation_error(_FOREIGN) from None


def check_kinds(items: Iterable[Any]) -> None:
    """Reject items whose types could run code of their own."""
    if not set(map(type, items)) <= _KINDS.keys():
        raise invalid_operation_error(_FOREIGN)


def invalid_operation_error(sentence: str, suggestion: str | None = None) -> Invalid:
    return Invalid(sentence, code="template_value", suggestion=suggestion)


def is_number(value: Any) -> bool:
    kind = type(value)
    return kind is int or kind is float


def find(holder: Any, key: Any, meter: RenderMeter) -> Any:
    """The member of an object or the item of a list or text, or MISSING."""
    value: Any
    kind, value = type(holder), MISSING
    if kind is dict:
        if type(key) is str:
            meter.spend(len(key) >> 8)
            value = holder.get(key, MISSING)
    elif kind is list or kind is tuple or kind is str:
        if type(key) is int and -len(holder) <= key < len(holder):
            value = holder[key]
    else:
        describe_kind(holder)
    if value is not MISSING:
        describe_kind(value)
    return value


def undefined_value_error(path: str, holder: Any = MISSING, key: Any = None) -> Invalid:
    """The error for an undefined value, with the closest existing name."""
    reason, suggestion = "", None
    if type(holder) is dict:
        suggestion = _nearest(key, holder)
    elif type(holder) in (list, tuple, str) and type(key) is int:
        reason = f": it has {len(holder)} items" if len(holder) else ": it is empty"
    elif holder is not MISSING:
        reason = f": the value before it is {describe_kind(holder)}"
    return Invalid(
        f"There is no value called {path!r}{reason}.",
        code="template_undefined",
        suggestion=suggestion,
    )


def _nearest(key: Any, holder: dict[Any, Any]) -> str | None:
    if type(key) is not str or len(holder) > 100:
        return None
    known = [name for name in holder if type(name) is str and len(name) <= 64]
    close = get_close_matches(key[:64], known, n=1)
    return f"Did you mean {close[0]!r}?" if close else None


def weigh(value: Any, meter: RenderMeter, indent: int = 0) -> int:
    """The approximate length of the value as JSON, charged node by node."""
    return _survey(value, meter, indent)[0]


def _survey(value: Any, meter: RenderMeter, indent: int) -> tuple[int, set[type]]:
    """The size of a value and the types in it.

    It proceeds level by level rather than by recursion; a shared part counts each time it occurs.
    """
    size, depth, level = 0, 0, [value]
    seen: set[type] = set()
    while level:
        if depth > MAX_DEPTH:
            raise invalid_operation_error(f"A value nests more than {MAX_DEPTH} levels deep.")
        meter.spend(1 + (len(level) >> 1))
        kinds = set(map(type, level))
        seen |= kinds
        size += len(level) * (4 + indent * depth) + _scalars_size(level, kinds, meter)
        below: list[Any] = []
        if not kinds.isdisjoint(_CONTAINERS):
            size += _open(level, below, meter)
        depth, level = depth + 1, below
    if not seen <= _KINDS.keys():
        raise invalid_operation_error(_FOREIGN)
    if size > meter.value_limit:
        raise Invalid(
            f"A value has more than {meter.value_limit} characters.", code="template_too_large"
        )
    return size, seen


def _open(level: list[Any], below: list[Any], meter: RenderMeter) -> int:
    """Collect the next nesting level; returns the size of the keys."""
    size = 0
    for item in level:
        kind = type(item)
        if kind is dict:
            meter.spend(3 + (len(item) >> 1))
            size += _keys_size(item)
            below.extend(item.values())
        elif kind is list or kind is tuple:
            meter.spend(2 + (len(item) >> 2))
            below.extend(item)
    return size


def _keys_size(holder: dict[Any, Any]) -> int:
    try:
        return sum(map(len, holder)) + 4 * len(holder)
    except TypeError:
        raise invalid_operation_error("An object has a key that is not text.") from None


def _scalars_size(level: list[Any], kinds: set[type], meter: RenderMeter) -> int:
    size = 0
    if str in kinds:
        size += sum(map(len, [item for item in level if type(item) is str]))
    if int in kinds:
        bits = [item.bit_length() for item in level if type(item) is int]
        if max(bits) > MAX_INTEGER_BITS:
            raise invalid_operation_error("A number is too large.")
        if max(bits) > _PLAIN_BITS:
            meter.spend(sum(bits) >> 5)
        size += sum(bits) // 3 + len(bits)
    if float in kinds:
        floats = [item for item in level if type(item) is float]
        if not all(map(math.isfinite, floats)):
            raise invalid_operation_error("A number is infinite or not a number.")
        size += 24 * len(floats)
    return size


def check_number(value: int | float) -> None:
    """Reject numbers that JSON cannot represent or that would be slow to write out."""
    if type(value) is int:
        if value.bit_length() > MAX_INTEGER_BITS:
            raise invalid_operation_error("A number is too large.")
    elif not math.isfinite(value):
        raise invalid_operation_error("A number is infinite or not a number.")


def to_text(value: Any, meter: RenderMeter) -> str:
    """A value as text: text unchanged, none as empty text, the rest as JSON."""
    kind = type(value)
    if kind is str:
        return str(value)
    if value is None:
        return ""
    if kind is int or kind is float:
        check_number(value)
        if kind is int and value.bit_length() > _PLAIN_BITS:
            meter.spend(value.bit_length() >> 4)
        return repr(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is datetime or kind is date:
        return str(value.isoformat())
    return to_json(value, meter)


def to_json(value: Any, meter: RenderMeter, indent: int | None = None) -> str:
    """The value as JSON; its size is charged before anything is written."""
    size = weigh(value, meter, indent or 0)
    meter.spend(20 + (size >> 7))
    made = (_COMPACT if indent is None else _build_json_encoder(indent)).encode(value)
    meter.allocate(len(made))
    return made


def _moment_text(value: Any) -> str:
    # ``weigh`` has already rejected everything else that JSON does not support.
    return str(value.isoformat())


def _build_json_encoder(indent: int) -> json.JSONEncoder:
    return json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, indent=indent, default=_moment_text
    )


_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_moment_text)


def to_native(value: Any, meter: RenderMeter) -> Any:
    """A value as plain JSON data of a bounded size."""
    if type(value) is str or value is None:
        return value
    size, seen = _survey(value, meter, 0)
    if seen.isdisjoint(_NOT_JSON):
        return value
    meter.spend(size)
    return _plain(value)


def _plain(value: Any) -> Any:
    """Timestamps become text and tuples become lists."""
    kind = type(value)
    if kind is datetime or kind is date:
        return value.isoformat()
    if kind is dict:
        return {key: _plain(entry) for key, entry in value.items()}
    if kind is list or kind is tuple:
        return [_plain(entry) for entry in value]
    return value
