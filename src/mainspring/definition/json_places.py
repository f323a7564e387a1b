"""Locates the first error in an invalid JSON document by tokenizing it.

This is slower than parsing, so it only runs for rejected documents and stops after a number of
tokens; the error is then reported without its location.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from mainspring.contracts.errors import Finding
from mainspring.contracts.limits import Limits
from mainspring.definition.pointers import join_pointer

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
    ("Invalid \\", "this escape is not one that JSON knows"),
    ("Illegal trailing comma", "a comma must not stand before the end"),
)


@dataclass(frozen=True, slots=True)
class JsonErrorLocation:
    """A position in the text, and the rule that is violated there, if any."""

    pointer: str
    offset: int | None
    code: str | None
    note: str = ""

    def sentence(self, limits: Limits | None) -> str:
        return describe_json_error(self.code or "json_syntax", limits, self.note)


@dataclass(slots=True)
class _OpenContainer:
    """One open object or list."""

    of: str
    keys: set[str] = field(default_factory=set)
    at: str | int = 0
    key_next: bool = True


def describe_json_error(code: str, limits: Limits | None = None, note: str = "") -> str:
    """The error message for a violated rule."""
    bounds = limits or Limits()
    return _SENTENCES[code].format(
        levels=bounds.json_depth, digits=bounds.json_digits, note=_reason(note)
    )


def find_text_fault(text: str) -> str | None:
    """The rule that a text violates: lone surrogates and NUL cannot be stored."""
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
    """The first violated rule, or the pointer at ``until``; None if it is too far into the text."""
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
    """Whether an integer is read back from the store unchanged."""
    return _LEAST <= number <= _MOST


def _overflows(word: str) -> bool:
    try:
        return math.isinf(float(word))
    except ValueError:
        return False


def _pointer(levels: list[_OpenContainer]) -> str:
    return join_pointer("", *(level.at for level in levels if level.of == "[" or level.keys))


def _sound_pointer(levels: list[_OpenContainer]) -> str:
    """A pointer must be storable too, so an invalid key truncates it at its object."""
    parts = _pointer(levels)
    return parts if find_text_fault(parts) is None else _pointer(levels[:-1])


def _reason(note: str) -> str:
    for start, reason in _SYNTAX:
        if note.startswith(start):
            return reason
    return note if len(note) <= LONGEST_SHOWN else note[:LONGEST_SHOWN] + "…"
