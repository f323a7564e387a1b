"""Strict JSON: what is read here can be kept, compared and written back unchanged.

Reading refuses what Python's own reader lets through and what Postgres cannot keep:
duplicate keys, NaN, numbers that overflow, lone surrogates, NUL characters. Size and
nesting are measured on the bytes before anything is built, so no document costs more
than its limits allow. A quick pass says whether a document is good; only a bad one is
walked again by ``json_places`` to say where.
"""

from __future__ import annotations

import gc
import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate
from typing import Any, NoReturn

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.json_places import (
    JsonErrorLocation,
    find_text_fault,
    is_storable_integer,
    locate_json_error,
)
from mainspring.definition.json_values import (
    check_value,
    encode_canonical,
    hash_content,
    invalid_value_error,
)

__all__ = ["check_value", "encode_canonical", "hash_content", "read_json"]

LARGE = 65_536

# The closing quote is optional, so that an unterminated string ends the search instead
# of starting it again at each quote inside it.
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NOT_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
# As signed bytes: an opening bracket is one level more, a closing one a level less.
_LEVELS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NOT_DIGITS = bytes(code for code in range(256) if code not in b"0123456789")
# An escape that may be half a character or a NUL; only then are the strings looked at.
_DOUBTFUL_ESCAPE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")


_LONG_INTEGER = re.compile(r"\d{19}")


class _JsonRuleError(Exception):
    """A rule was broken; the place is looked for afterwards."""

    def __init__(self, code: str, note: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.note = note


def read_json(text: bytes | str, limits: Limits) -> Any:
    """The value of a JSON document, or ``Invalid`` with the place and the reason."""
    if len(text) > limits.json_bytes:
        raise _too_large(limits)
    source, data = _decode_source(text)
    if len(data) > limits.json_bytes:
        raise _too_large(limits)
    if not source.strip(" \t\r\n"):
        raise invalid_value_error(
            Finding("", "There is no JSON here: the text is empty.", "json_empty")
        )
    try:
        _measure(data, limits)
        return _parse_source(source)
    except json.JSONDecodeError as error:
        place = locate_json_error(source, limits, until=error.pos)
        if place is None or place.code is None:
            place = _syntax_place(source, error, place)
    except _JsonRuleError as error:
        place = locate_json_error(source, limits) or JsonErrorLocation(
            "", None, error.code, error.note
        )
    except RecursionError:
        place = JsonErrorLocation("", None, "json_depth")
    raise _refusal_at(source, place, limits)


def _decode_source(text: bytes | str) -> tuple[str, bytes]:
    if isinstance(text, str):
        source = text
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise _refusal_at(
                source, JsonErrorLocation("", error.start, "json_surrogate"), None
            ) from None
    else:
        data = bytes(text)
        try:
            source = data.decode()
        except UnicodeDecodeError as error:
            detail = f"The text is not UTF-8: byte {error.start} cannot be read."
            hint = "Send the document as UTF-8, without a byte order mark."
            raise invalid_value_error(Finding("", detail, "json_encoding", hint)) from None
    if source.startswith("\ufeff"):
        detail = "The text begins with a byte order mark, which JSON does not allow."
        hint = "Save the document as UTF-8 without a byte order mark."
        raise invalid_value_error(Finding("", detail, "json_byte_order_mark", hint))
    return source, data


def _measure(data: bytes, limits: Limits) -> None:
    """Refuses deep nesting and long numbers; most documents pass on two quick looks."""
    deep = data.count(b"[") + data.count(b"{") > limits.json_depth
    long_number = _run_of_digits(limits.json_digits)
    if not deep and long_number.search(data) is None:
        return
    bare = _STRINGS.sub(b"", data)
    if deep and _nesting(bare) > limits.json_depth:
        raise _JsonRuleError("json_depth")
    for number in long_number.findall(bare):
        if len(number.translate(None, _NOT_DIGITS)) > limits.json_digits:
            raise _JsonRuleError("json_digits")


def _nesting(bare: bytes) -> int:
    brackets = bare.translate(None, _NOT_BRACKETS)
    return max(accumulate(array("b", brackets.translate(_LEVELS))), default=0)


@lru_cache(maxsize=8)
def _run_of_digits(most: int) -> re.Pattern[bytes]:
    return re.compile(rb"[-+.eE0-9]{%d,}+" % (most + 1))


def _parse_source(source: str) -> Any:
    try:
        with _no_collector(len(source) > LARGE):
            value = json.loads(
                source,
                object_pairs_hook=_object,
                parse_float=_float,
                parse_constant=_constant,
                # A call for every number is dear; few documents have one so long.
                parse_int=_integer if _LONG_INTEGER.search(source) else None,
            )
    except json.JSONDecodeError:
        raise
    except ValueError:  # more digits than Python itself is willing to convert
        raise _JsonRuleError("json_digits") from None
    if _DOUBTFUL_ESCAPE.search(source) and not _all_texts_sound(value):
        raise _JsonRuleError("json_surrogate")
    return value


@contextmanager
def _no_collector(large: bool) -> Iterator[None]:
    """Reading makes no garbage; searching for it takes longer than reading itself."""
    pause = large and gc.isenabled()
    if pause:
        gc.disable()
    try:
        yield
    finally:
        if pause:
            gc.enable()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        counted = Counter(key for key, _ in pairs)
        raise _JsonRuleError("json_duplicate_key", counted.most_common(1)[0][0])
    return made


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _JsonRuleError("json_overflow")
    return number


def _integer(text: str) -> int:
    number = int(text)
    if not is_storable_integer(number):
        raise _JsonRuleError("json_integer")
    return number


def _constant(name: str) -> NoReturn:
    del name
    raise _JsonRuleError("json_constant")


def _all_texts_sound(value: Any) -> bool:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if find_text_fault(item):
                return False
        elif isinstance(item, dict):
            waiting.extend(item)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return True


def _too_large(limits: Limits) -> Invalid:
    detail = f"The document is larger than {limits.json_bytes:,} bytes."
    return invalid_value_error(Finding("", detail, "json_too_large"))


def _syntax_place(
    source: str, error: json.JSONDecodeError, place: JsonErrorLocation | None
) -> JsonErrorLocation:
    pointer = "" if place is None else place.pointer
    if error.msg == "Extra data":
        return JsonErrorLocation("", error.pos, "json_trailing")
    ended = not source[error.pos :].strip(" \t\r\n")
    return JsonErrorLocation(
        pointer, error.pos, "json_syntax", "it ends too early" if ended else error.msg
    )


def _refusal_at(source: str, place: JsonErrorLocation, limits: Limits | None) -> Invalid:
    detail = place.sentence(limits)
    if place.offset is not None:
        line = source.count("\n", 0, place.offset) + 1
        column = place.offset - source.rfind("\n", 0, place.offset)
        detail = f"{detail} (line {line}, column {column})"
    return invalid_value_error(Finding(place.pointer, detail, place.code or "json_syntax"))
