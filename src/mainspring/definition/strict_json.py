"""Strict JSON: every accepted value can be stored, compared and written back unchanged.

Reading refuses what Python's own reader lets through and what Postgres cannot keep:
duplicate keys, NaN, numbers that overflow, lone surrogates, NUL characters. Size and
nesting are measured on the bytes before anything is built, so no document costs more
than its limits allow. A quick pass says whether a document is good; only a bad one is
walked again to say where.
"""

from __future__ import annotations

import gc
import hashlib
import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from itertools import accumulate
from typing import Any, NoReturn

import orjson

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits

# JSON pointers (RFC 6901): the address of a place inside a document.


def join_pointer(at: str, *parts: str | int) -> str:
    """The pointer of a place below ``at``."""
    return at + "".join(f"/{_escape_part(part)}" for part in parts)


def split_pointer(pointer: str) -> list[str]:
    """The names and positions a pointer walks through."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _escape_part(part: str | int) -> str:
    return str(part).replace("~", "~0").replace("/", "~1")


# Where a bad JSON document is bad: walks its words until the first broken rule.
#
# This walk is slower than parsing, so it only runs for documents that were refused, and
# gives up after a number of words; the problem is then told without its place.


WORDS_WALKED = 40_000
LONGEST_SHOWN = 60

_WORD = re.compile(r'[ \t\r\n]*+("(?:[^"\\]++|\\.)*+"?|[\[\]{}:,]|[^\s\[\]{}:,"]++)', re.DOTALL)
_CONSTANTS = frozenset({"NaN", "Infinity", "-Infinity"})
_LEAST, _MOST = -(2**63), 2**64 - 1
_NUMBER = re.compile(r"-?\d[-+.eE\d]*\Z", re.ASCII)

_RULES = (
    Finding("", "The document is nested more than {levels} levels deep.", "json_depth"),
    Finding("", "A number has more than {digits} digits.", "json_digits"),
    Finding("", "The key {note!r} appears twice in the same object.", "json_duplicate_key"),
    Finding("", "NaN and Infinity are not JSON numbers.", "json_constant"),
    Finding("", "A number is too large to be represented.", "json_overflow"),
    Finding("", "A whole number does not fit into 64 bits; write it as text.", "json_integer"),
    Finding(
        "", "A text contains half of a surrogate pair, which cannot be kept.", "json_surrogate"
    ),
    Finding("", "A text contains the NUL character, which cannot be kept.", "json_nul"),
    Finding("", "After the end of the JSON value there is more text.", "json_trailing"),
    Finding("", "This is not JSON: {note}.", "json_syntax"),
)
_SENTENCES = {rule.code: rule.detail for rule in _RULES}
_SYNTAX = (
    ("Expecting property name", "a key in double quotes is expected here"),
    ("Expecting ':'", "a colon is expected after the key"),
    ("Expecting ','", "a comma or the end of the list or object is expected here"),
    ("Expecting value", "a value is expected here"),
    ("Unterminated string", "a text that starts here has no closing quote"),
    ("Invalid control character", "a control character in a text must be written as an escape"),
    ("Invalid \\", "this escape is not valid JSON"),
    ("Illegal trailing comma", "a trailing comma is not allowed"),
)


@dataclass(frozen=True, slots=True)
class JsonErrorLocation:
    """A spot in the text, and the rule that is broken there, if one is."""

    pointer: str
    offset: int | None
    code: str | None
    note: str = ""

    def sentence(self, limits: Limits | None) -> str:
        return describe_json_error(self.code or "json_syntax", limits, self.note)


@dataclass(slots=True)
class _OpenContainer:
    """One open object or list while walking."""

    of: str
    keys: set[str] = field(default_factory=set)
    at: str | int = 0
    key_next: bool = True


def describe_json_error(code: str, limits: Limits | None = None, note: str = "") -> str:
    """The text for a broken rule."""
    bounds = limits or Limits()
    return _SENTENCES[code].format(
        levels=bounds.json_depth, digits=bounds.json_digits, note=_reason(note)
    )


def find_text_fault(text: str) -> str | None:
    """The rule that a piece of text breaks: half characters and NUL cannot be kept."""
    if "\0" in text:
        return "json_nul"
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return "json_surrogate"
    return None


def locate_json_error(
    source: str, limits: Limits, until: int | None = None
) -> JsonErrorLocation | None:
    """The first broken rule, or the pointer at ``until``; nothing if it is too far in."""
    levels: list[_OpenContainer] = []
    walked = 0
    for offset, word in _iterate_tokens(source):
        if until is not None and offset >= until:
            break
        place = _step(levels, word, offset, limits)
        if place is not None:
            return place
        walked += 1
    if until is None or walked == WORDS_WALKED:
        return None
    return JsonErrorLocation(_pointer(levels), until, None)


def _iterate_tokens(source: str) -> Iterator[tuple[int, str]]:
    offset = 0
    for _ in range(WORDS_WALKED):
        found = _WORD.match(source, offset)
        if found is None:
            return
        yield found.start(1), found.group(1)
        offset = found.end()


def _step(
    levels: list[_OpenContainer], word: str, offset: int, limits: Limits
) -> JsonErrorLocation | None:
    if word in "[{":
        levels.append(_OpenContainer(word))
        if len(levels) > limits.json_depth:
            return JsonErrorLocation(_pointer(levels[:-1]), offset, "json_depth")
    elif word in "]}":
        if levels:
            levels.pop()
    elif word == ",":
        _next_member(levels)
    elif word == ":":
        if levels:
            levels[-1].key_next = False
    elif word[0] == '"':
        return _text_step(levels, word, offset)
    else:
        return _bare_step(levels, word, offset, limits)
    return None


def _next_member(levels: list[_OpenContainer]) -> None:
    if not levels:
        return
    level = levels[-1]
    level.key_next = True
    if isinstance(level.at, int):
        level.at += 1


def _text_step(levels: list[_OpenContainer], word: str, offset: int) -> JsonErrorLocation | None:
    try:
        text = json.loads(word) if "\\" in word else word[1:-1]
    except ValueError:
        return None
    level = levels[-1] if levels else None
    if level is not None and level.of == "{" and level.key_next:
        level.at = text
        if text in level.keys:
            return JsonErrorLocation(_pointer(levels), offset, "json_duplicate_key", text)
        level.keys.add(text)
    code = find_text_fault(text)
    return None if code is None else JsonErrorLocation(_sound_pointer(levels), offset, code)


def _bare_step(
    levels: list[_OpenContainer], word: str, offset: int, limits: Limits
) -> JsonErrorLocation | None:
    if word in _CONSTANTS:
        return JsonErrorLocation(_pointer(levels), offset, "json_constant")
    if _NUMBER.match(word) is None:
        return None
    if sum(character.isdigit() for character in word) > limits.json_digits:
        return JsonErrorLocation(_pointer(levels), offset, "json_digits")
    if word.lstrip("-").isdigit():
        return (
            None
            if is_storable_integer(int(word))
            else JsonErrorLocation(_pointer(levels), offset, "json_integer")
        )
    return (
        JsonErrorLocation(_pointer(levels), offset, "json_overflow") if _overflows(word) else None
    )


def is_storable_integer(number: int) -> bool:
    """Whether a whole number comes back from the store as it went in."""
    return _LEAST <= number <= _MOST


def _overflows(word: str) -> bool:
    try:
        return math.isinf(float(word))
    except ValueError:
        return False


def _pointer(levels: list[_OpenContainer]) -> str:
    return join_pointer("", *(level.at for level in levels if level.of == "[" or level.keys))


def _sound_pointer(levels: list[_OpenContainer]) -> str:
    """A pointer must be keepable itself, so an unsound key ends it at its object."""
    parts = _pointer(levels)
    return parts if find_text_fault(parts) is None else _pointer(levels[:-1])


def _reason(note: str) -> str:
    for start, reason in _SYNTAX:
        if note.startswith(start):
            return reason
    return note if len(note) <= LONGEST_SHOWN else note[:LONGEST_SHOWN] + "…"


# JSON values that are already decoded: the same rules, one spelling, one hash.
#
# What a handler answers or a template makes is judged here before it is kept; the
# canonical spelling is what sizes are measured on and hashes are made of.


_STRICT = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_SUBCLASS
_STRICT |= orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def check_value(value: Any, limits: Limits, at: str = "") -> None:
    """Raises ``Invalid`` unless a decoded value obeys the rules of ``read_json``.

    Exact types only: a tuple or an enum would come back from the store as something
    else, and a run resumed after a crash would then see other values than before it.
    """
    try:
        _ValueChecker(limits).check(value, limits.json_depth)
    except _NotJsonError as unfit:
        pointer = join_pointer(at, *reversed(unfit.path))
        raise invalid_value_error(replace(unfit.finding, pointer=pointer)) from None


def encode_canonical(value: Any) -> bytes:
    """The one spelling of a JSON value: sorted keys, no spaces, UTF-8."""
    try:
        return orjson.dumps(value, option=_STRICT)
    except orjson.JSONEncodeError:
        pass
    try:
        return orjson.dumps(_spell_large_integers(value), option=_STRICT)
    except (orjson.JSONEncodeError, RecursionError):
        raise Invalid("The value cannot be written as JSON.", code="json_type") from None


def dumps(value: Any) -> str | None:
    """JSON text for a column of the database; None stays None."""
    return None if value is None else orjson.dumps(value, default=encode_exact).decode()


def encode_exact(value: Any) -> Any:
    """What the encoder does not know: a decimal becomes a number with all of its digits."""
    return orjson.Fragment(str(value).encode()) if isinstance(value, Decimal) else str(value)


def hash_content(value: Any) -> bytes:
    """SHA-256 of the canonical spelling: equal content, equal hash."""
    return hashlib.sha256(encode_canonical(value)).digest()


def is_same_value(left: Any, right: Any) -> bool:
    """Equality as JSON means it: true is not 1, and 1 is 1.0."""
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
    """A problem with one finding, which says the same at its place."""
    return Invalid(
        finding.detail, code=finding.code, findings=[finding], suggestion=finding.suggestion
    )


class _NotJsonError(Exception):
    """A decoded value is not JSON; the path grows while the walk unwinds."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.code)
        self.finding = finding
        self.path: list[str | int] = []


class _ValueChecker:
    """One pass over a decoded value, with room for so many parts and no more.

    A value may hold one list many times over; counting the parts keeps a few lines of
    such sharing from becoming an endless document.
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
            # A bad key must not become part of the pointer, which is kept as well.
            if type(key) is not str:
                raise _NotJsonError(Finding("", "Every key of an object must be text.", "json_key"))
            if "\0" in key or not key.isascii():
                _check_text(key)
            # Most members are plain values; a step into each would be most of the work.
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
    """The value with whole numbers beyond 64 bits written out, digit by digit."""
    kind = type(value)
    if kind is dict:
        return {key: _spell_large_integers(item) for key, item in value.items()}
    if kind is list:
        return [_spell_large_integers(item) for item in value]
    if kind is int and value.bit_length() > 63:
        return orjson.Fragment(str(value))
    return value


__all__ = ["check_value", "encode_canonical", "hash_content", "read_json"]

LARGE = 65_536

# The closing quote is optional, so that an unterminated string ends the search instead of
# restarting it at each quote inside the string.
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NOT_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
# As signed bytes: an opening bracket adds one level, a closing one removes one.
_LEVELS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NOT_DIGITS = bytes(code for code in range(256) if code not in b"0123456789")
# An escape that may be a lone surrogate or NUL; strings are only checked if one occurs.
_DOUBTFUL_ESCAPE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")


_LONG_INTEGER = re.compile(r"\d{19}")


class _JsonRuleError(Exception):
    """A rule was violated; the location is determined afterwards."""

    def __init__(self, code: str, note: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.note = note


def read_json(text: bytes | str, limits: Limits) -> Any:
    """The value of a JSON document, or ``Invalid`` with the location and the reason."""
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
    """Reject deep nesting and long numbers; two fast checks pass most documents."""
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
                # A callback for every number is expensive; few documents contain a long one.
                parse_int=_integer if _LONG_INTEGER.search(source) else None,
            )
    except json.JSONDecodeError:
        raise
    except ValueError:  # more digits than Python is willing to convert
        raise _JsonRuleError("json_digits") from None
    if _DOUBTFUL_ESCAPE.search(source) and not _all_texts_sound(value):
        raise _JsonRuleError("json_surrogate")
    return value


@contextmanager
def _no_collector(large: bool) -> Iterator[None]:
    """Parsing creates no garbage, and garbage collection would take longer than the parsing."""
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
