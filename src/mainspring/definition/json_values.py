"""Checks, canonical encoding and hashing of decoded JSON values.

Values from handlers and templates are checked here before they are stored. Sizes and hashes are
computed from the canonical encoding.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.json_places import (
    describe_json_error,
    find_text_fault,
    is_storable_integer,
)
from mainspring.definition.pointers import join_pointer

_STRICT = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_SUBCLASS
_STRICT |= orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def check_value(value: Any, limits: Limits, at: str = "") -> None:
    """Raise ``Invalid`` unless a decoded value obeys the rules of ``read_json``.

    Only exact types pass: a tuple or an enum would be read back from the store as something else,
    and a run resumed after a crash would see other values than before it.
    """
    try:
        _ValueChecker(limits).check(value, limits.json_depth)
    except _NotJsonError as unfit:
        pointer = join_pointer(at, *reversed(unfit.path))
        raise invalid_value_error(replace(unfit.finding, pointer=pointer)) from None


def encode_canonical(value: Any) -> bytes:
    """The canonical encoding of a JSON value: sorted keys, no spaces, UTF-8."""
    try:
        return orjson.dumps(value, option=_STRICT)
    except orjson.JSONEncodeError:
        pass
    try:
        return orjson.dumps(_spell_large_integers(value), option=_STRICT)
    except (orjson.JSONEncodeError, RecursionError):
        raise Invalid("The value cannot be written as JSON.", code="json_type") from None


def hash_content(value: Any) -> bytes:
    """SHA-256 of the canonical encoding: equal content has an equal hash."""
    return hashlib.sha256(encode_canonical(value)).digest()


def is_same_value(left: Any, right: Any) -> bool:
    """JSON equality: true is not 1, and 1 equals 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(
            is_same_value(value, right[key]) for key, value in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_same_value, left, right))
    return bool(left == right)


def invalid_value_error(finding: Finding) -> Invalid:
    """An ``Invalid`` with a single finding at the given pointer."""
    return Invalid(
        finding.detail, code=finding.code, findings=[finding], suggestion=finding.suggestion
    )


class _NotJsonError(Exception):
    """A decoded value is not JSON; the path is built while the recursion unwinds."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.code)
        self.finding = finding
        self.path: list[str | int] = []


class _ValueChecker:
    """Walks a decoded value once and counts its nodes against a limit.

    A value may reference the same list many times; the limit on nodes keeps a small object graph
    with shared parts from expanding into an endless document.
    """

    __slots__ = ("parts",)

    def __init__(self, limits: Limits) -> None:
        self.parts = limits.json_bytes

    def check(self, value: Any, levels: int) -> None:
        kind = type(value)
        if kind is dict or kind is list:
            if levels <= 0:
                raise _NotJsonError(Finding("", "The value is nested too deeply.", "json_depth"))
            self._take(len(value))
            if kind is dict:
                self._members(value, levels - 1)
            else:
                self._items(value, levels - 1)
        elif kind is str:
            _check_text(value)
        elif kind is float:
            if not math.isfinite(value):
                raise _NotJsonError(
                    Finding("", "NaN and infinity are not JSON numbers.", "json_constant")
                )
        elif kind is int:
            self._check_integer(value)
        elif kind is not bool and value is not None:
            raise _NotJsonError(
                Finding("", f"A value of the type {kind.__name__} is not JSON.", "json_type")
            )

    def _members(self, value: dict[Any, Any], levels: int) -> None:
        for key, item in value.items():
            # A bad key must not become part of the pointer, because the pointer is stored too.
            if type(key) is not str:
                raise _NotJsonError(Finding("", "Every key of an object must be text.", "json_key"))
            if "\0" in key or not key.isascii():
                _check_text(key)
            # Most members are scalars; a call for each of them would dominate the cost.
            kind = type(item)
            if kind is str:
                if item.isascii() and "\0" not in item:
                    continue
            elif kind is bool or item is None:
                continue
            try:
                self.check(item, levels)
            except _NotJsonError as unfit:
                unfit.path.append(key)
                raise

    def _items(self, value: list[Any], levels: int) -> None:
        for position, item in enumerate(value):
            try:
                self.check(item, levels)
            except _NotJsonError as unfit:
                unfit.path.append(position)
                raise

    def _take(self, parts: int) -> None:
        self.parts -= parts
        if self.parts < 0:
            raise _NotJsonError(Finding("", "The value has too many parts.", "json_too_large"))

    def _check_integer(self, value: int) -> None:
        if not is_storable_integer(value):
            raise _NotJsonError(Finding("", describe_json_error("json_integer"), "json_integer"))


def _check_text(text: str) -> None:
    code = find_text_fault(text)
    if code is not None:
        raise _NotJsonError(Finding("", describe_json_error(code), code))


def _spell_large_integers(value: Any) -> Any:
    """The value with integers beyond 64 bits written out as decimal digits."""
    kind = type(value)
    if kind is dict:
        return {key: _spell_large_integers(item) for key, item in value.items()}
    if kind is list:
        return [_spell_large_integers(item) for item in value]
    if kind is int and value.bit_length() > 63:
        return orjson.Fragment(str(value))
    return value
